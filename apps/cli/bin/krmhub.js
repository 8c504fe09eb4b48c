#!/usr/bin/env node
// Stands in the repository, so that npm can link the command before anything is built.
import { existsSync } from 'node:fs';

const program = new URL('../dist/main.js', import.meta.url);
if (existsSync(program)) {
  await import(program);
} else {
  process.stderr.write('krmhub is not built yet: run `npm run build` in the checkout first.\n');
  process.exitCode = 2;
}
