import { parentPort } from 'node:worker_threads';
import { readUpstreamCatalog } from '@krmhub/catalog';
import type { ReadAnswer, ReadInput } from '../sources/upstream-reader.js';

/** Reads catalogs that somebody else serves: what is too much for it takes down this thread alone. */
parentPort?.on('message', (input: ReadInput) => parentPort?.postMessage(answer(input)));

function answer({ bytes, file, known }: ReadInput): ReadAnswer {
  try {
    const read = readUpstreamCatalog(bytes, file);
    if ('problem' in read) return read;
    const { entries, invalid, invalidEntries } = read;
    return {
      entries: entries.map(({ facts }) => facts),
      rendered: entries.flatMap(({ rendered }) => (known.has(rendered.digest) ? [] : [rendered])),
      invalid,
      invalidEntries,
    };
  } catch (failure) {
    return { failure };
  }
}
