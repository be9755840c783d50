#!/usr/bin/env node
// A scripted stand-in for an agent CLI whose provider refuses. Like some real ones, it exits with 0 all the same.
import { readFileSync } from 'node:fs';

readFileSync(0);
console.error('provider error: 429 too many requests, try again in 120s');
