import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { KrmhubError } from '@krmhub/schema/error';
import { readDocumentFile } from '../../documents/document-files.js';
import { lintSource } from './lint-source.js';
import type { Batch, BatchResult, ThreadSetup } from './threads.js';

/** A lint thread: processes batches until it is terminated. */
const setup = workerData as ThreadSetup;
const io = { cwd: setup.cwd, stdin: Readable.from([]) };

parentPort!.on('message', (batch: Batch) => {
  void lintBatch(batch).then((result) => parentPort!.postMessage(result));
});

async function lintBatch({ number, files }: Batch): Promise<BatchResult> {
  const reports = [];
  try {
    for (const file of files) {
      const report = await lintSource(await readDocumentFile(io, file), setup);
      reports.push(setup.keepBytes ? report : { ...report, bytes: undefined });
    }
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    const { code, message, hint } = error;
    return { number, error: { code, message, hint } };
  }
  return { number, reports };
}
