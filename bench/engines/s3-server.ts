import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { folderBytes } from '../folders.js';
import { freePort } from '../peers.js';
import { startProcess } from '../processes.js';

/** An S3 server over a folder, from github.com/versity/versitygw. It does not sync objects to disk. */
export interface S3Server {
  /** Value of `--blob-url`. */
  blobUrl: string;
  /** Credentials for krmhub. */
  env: Record<string, string>;
  /** Returns the bytes of all objects. */
  objectBytes(): Promise<number>;
  stop(): Promise<void>;
}

const BUCKET = 'bench';
const CREDENTIALS = ['krmhub-bench', 'krmhub-bench-secret'] as const;
const START_MILLISECONDS = 60_000;

export async function startS3Server(folder: string): Promise<S3Server> {
  const data = path.join(folder, 'buckets');
  const objects = path.join(data, BUCKET);
  await mkdir(objects, { recursive: true });
  const address = `127.0.0.1:${await freePort()}`;
  const [id, secret] = CREDENTIALS;
  const started = await startProcess(['versitygw', ['--port', address, '--quiet', 'posix', data]], {
    output: path.join(folder, 's3.log'),
    // It says nothing.
    until: /^/,
    env: { ...process.env, ROOT_ACCESS_KEY: id, ROOT_SECRET_KEY: secret },
  });
  const deadline = performance.now() + START_MILLISECONDS;
  while (!(await responds(`http://${address}`))) {
    if (performance.now() > deadline) {
      await started.stop();
      throw new Error('versitygw does not respond');
    }
    await setTimeout(20);
  }
  return {
    blobUrl: `s3://${BUCKET}/registry?endpoint=http://${address}&region=us-east-1`,
    env: { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret },
    objectBytes: () => folderBytes(objects),
    stop: () => started.stop(),
  };
}

async function responds(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined);
  await response?.body?.cancel();
  return response !== undefined;
}
