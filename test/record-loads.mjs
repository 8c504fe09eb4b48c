// With `node --import`, this appends the URL of each module that a program loads to the file LOADS_FILE.
import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  if (url.startsWith('file:')) appendFileSync(process.env.LOADS_FILE, `${url}\n`);
  return next(url, context);
}
