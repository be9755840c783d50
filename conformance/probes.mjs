/** All probes, in the order of the table. A new group of probes is one file and one line here. */
import { checkout } from './probes/checkout.mjs';
import { endings } from './probes/endings.mjs';
import { hiding } from './probes/hiding.mjs';
import { inventory } from './probes/inventory.mjs';
import { output } from './probes/output.mjs';
import { planting } from './probes/planting.mjs';
import { processes } from './probes/processes.mjs';
import { refs } from './probes/refs.mjs';
import { secrets } from './probes/secrets.mjs';
import { surroundings } from './probes/surroundings.mjs';
import { wiring } from './probes/wiring.mjs';

const GROUPS = {
  endings,
  processes,
  checkout,
  refs,
  planting,
  wiring,
  hiding,
  inventory,
  output,
  secrets,
  surroundings,
};

/** @type {readonly import('./stage.mjs').Probe[]} */
export const PROBES = Object.entries(GROUPS).flatMap(([kind, probes]) => probes.map((probe) => ({ ...probe, kind })));
