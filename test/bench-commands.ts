import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './running.js';

/**
 * The commands of bench/performance.md that measure: they take minutes, so tests run them with
 * other options.
 */
export function benchCommands(): string[] {
  const document = readFileSync(path.join(root, 'bench/performance.md'), 'utf8');
  return [...document.matchAll(/^```sh\n(npm run bench.*)\n```$/gm)].map((match) => match[1]!);
}
