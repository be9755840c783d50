#!/usr/bin/env node
// A scripted stand-in for an agent CLI: reads the prompt from stdin, repairs the one bug that the demo plants, says so.
import { readFileSync, writeFileSync } from 'node:fs';

const prompt = readFileSync(0, 'utf8');
console.log(`reading the unit (${prompt.length} characters)`);
const file = 'src/add.js';
const before = readFileSync(file, 'utf8');
const after = before.replace('return a - b;', 'return a + b;');
if (after === before) {
  console.error('nothing to repair found');
  process.exit(1);
}
writeFileSync(file, after);
console.log('CONFIRMED: add() subtracted. It adds now.');
