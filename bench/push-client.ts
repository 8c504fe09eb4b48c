import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';

export interface PushPlan {
  origin: string;
  repository: string;
  authorization?: string;
  /** Per blob. */
  bytes: number;
  count: number;
  /** Pushes in flight. */
  connections: number;
}

export interface PushResult {
  digests: string[];
  /** From the first request to the end of the last response. */
  seconds: number;
  /** The first response without success. */
  failure?: string;
}

/** Pushes new blobs as clients do: a session and one PUT. Writes its measurements as JSON. */
const plan = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as PushPlan;
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections });
const { hostname, port } = new URL(plan.origin);
const result: PushResult = { digests: [], seconds: 0 };
const common = randomBytes(plan.bytes);
const blobs = Array.from({ length: plan.count }, () => {
  const bytes = Buffer.from(common);
  randomBytes(16).copy(bytes);
  return { bytes, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}` };
});
const waiting = [...blobs];
const started = performance.now();
try {
  await Promise.all(Array.from({ length: plan.connections }, work));
} catch (error) {
  result.failure = (error as Error).message;
}
result.seconds = (performance.now() - started) / 1000;
result.digests = blobs.map(({ digest }) => digest);
agent.destroy();
process.stdout.write(JSON.stringify(result));

async function work(): Promise<void> {
  for (let blob = waiting.pop(); blob !== undefined; blob = waiting.pop()) {
    const session = await ask('POST', `/v2/${plan.repository}/blobs/uploads/`, 202);
    const location = new URL(session.headers.location!, plan.origin);
    location.searchParams.set('digest', blob.digest);
    await ask('PUT', location.pathname + location.search, 201, blob.bytes);
  }
}

function ask(method: string, path: string, status: number, body?: Buffer): Promise<IncomingMessage> {
  const headers = {
    'Content-Length': String(body?.byteLength ?? 0),
    ...(plan.authorization === undefined ? {} : { Authorization: plan.authorization }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/octet-stream' }),
  };
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === status) resolve(answer);
        else reject(new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 500)}`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
