import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseS3Url, type S3Place } from '../../apps/registry/src/store/blobs/s3/place.js';
import { spawn, spawnSync } from '../processes.js';
import { freePort } from './free-port.js';

/** An S3 server over a folder, from github.com/versity/versitygw. */
export const hasS3Server = spawnSync('versitygw', ['--version']).status === 0;

export const BUCKET = 'registry';
export const S3_CREDENTIALS = { accessKeyId: 'krmhub-test', secretAccessKey: 'krmhub-test-secret' };
/** The same for programs. */
export const S3_ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
};

export interface S3Server {
  /** Host and port. */
  host: string;
  endpoint: string;
  /** Folder of the objects, by their names. */
  objects: string;
  /** Value of `--blob-url` for a prefix. */
  blobUrl(prefix: string, endpoint?: string): string;
  place(prefix: string, endpoint?: string): S3Place;
  stop(): Promise<void>;
}

/** Starts an S3 server with one bucket. */
export async function startS3Server(folder: string): Promise<S3Server> {
  const data = path.join(folder, 'buckets');
  const objects = path.join(data, BUCKET);
  mkdirSync(objects, { recursive: true });
  for (let start = 1; ; start++) {
    const port = await freePort();
    const host = `127.0.0.1:${port}`;
    const child = spawn('versitygw', ['--port', host, '--quiet', 'posix', data], {
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: S3_CREDENTIALS.accessKeyId,
        ROOT_SECRET_KEY: S3_CREDENTIALS.secretAccessKey,
      },
      stdio: 'ignore',
    });
    const kill = () => void child.kill('SIGKILL');
    const exited = once(child, 'close');
    const endpoint = `http://${host}`;
    if (await responds(endpoint, () => child.exitCode !== null)) {
      const blobUrl = (prefix: string, at = endpoint) =>
        `s3://${BUCKET}/${prefix}?endpoint=${at}&region=us-east-1`;
      return {
        host,
        endpoint,
        objects,
        blobUrl,
        place: (prefix, at) => parseS3Url(blobUrl(prefix, at)),
        stop: async () => {
          child.kill();
          await exited;
        },
      };
    }
    // Another program may have taken the port.
    kill();
    await exited;
    if (start >= 5) throw new Error('versitygw does not start');
  }
}

async function responds(endpoint: string, hasEnded: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 1_200 && !hasEnded(); tries++) {
    const response = await fetch(endpoint).catch(() => undefined);
    await response?.body?.cancel();
    if (response !== undefined) return !hasEnded();
    await sleep(50);
  }
  return false;
}
