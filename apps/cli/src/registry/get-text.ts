import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { proxyAgentFor } from './connection.js';

const REQUEST_MILLISECONDS = 30_000;
const MAX_BYTES = 1_048_576;

/** Asks a service of a CI provider, through the proxy of the environment. Follows no redirect: it can have a secret. */
export async function getText(
  io: Io,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; body: string }> {
  const agent = await proxyAgentFor(io, url);
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? request : plainRequest;
    const signal = AbortSignal.timeout(REQUEST_MILLISECONDS);
    const all = { Accept: 'application/json', 'User-Agent': 'krmhub', ...headers };
    send(url, { headers: all, signal, ...defined({ agent }) }, (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (part: Buffer) => {
        size += part.length;
        if (size > MAX_BYTES) response.destroy(new Error(`the answer has more than ${MAX_BYTES} bytes`));
        else parts.push(part);
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString('utf8') });
      });
      response.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}
