/** `agent-exec receipt`: what can be done with a receipt beside reading it. */
import { Command } from 'commander';
import type { CliIo } from './io.ts';
import { cardCommand } from './receipt-card.ts';
import { verifyCommand } from './receipt-verify.ts';

const AFTER_HELP = `
Examples:
  $ agent-exec receipt verify receipt.json --require success
  $ agent-exec receipt card last --lang zh`;

/** The command; its own are below it. */
export function receiptCommand(io: CliIo): Command {
  return (
    new Command('receipt')
      .description('Verifies receipts, or makes a card of one for a task or a pull request.')
      .helpCommand(false)
      .addCommand(verifyCommand(io))
      .addCommand(cardCommand(io))
      // Streams and exits are given to the outer command, after this is made.
      .hook('preSubcommand', (outer, inner) => {
        inner.copyInheritedSettings(outer);
      })
      .addHelpText('after', AFTER_HELP)
  );
}
