import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';

export interface LoadRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface LoadPlan {
  origin: string;
  /** Requested in this order; starts over if there is a time to fill. */
  requests: LoadRequest[];
  /** Requests in flight. */
  connections: number;
  /** How long to run; without it each request is made once. */
  milliseconds?: number;
  /** Upper limit of the rate; without it as fast as responses come. */
  perSecond?: number;
}

export interface LoadResult {
  /** Per request, from its start to the end of its response. */
  milliseconds: number[];
  /** From the first request to the end of the last response. */
  seconds: number;
  /** The first response without success. */
  failure?: string;
}

/** Makes the requests of a plan and writes its measurements as JSON: `node load-client.js PLAN`. */
const plan = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as LoadPlan;
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections });
const { hostname, port } = new URL(plan.origin);
const result: LoadResult = { milliseconds: [], seconds: 0 };
const started = performance.now();
let next = 0;

await Promise.all(Array.from({ length: plan.connections }, work));
result.seconds = (performance.now() - started) / 1000;
agent.destroy();
process.stdout.write(JSON.stringify(result));

async function work(): Promise<void> {
  while (result.failure === undefined) {
    const turn = next++;
    if (plan.milliseconds === undefined ? turn >= plan.requests.length : elapsed() >= plan.milliseconds)
      return;
    if (plan.perSecond !== undefined)
      await setTimeout(Math.max(0, (turn * 1000) / plan.perSecond - elapsed()));
    await ask(plan.requests[turn % plan.requests.length]!);
  }
}

function elapsed(): number {
  return performance.now() - started;
}

function ask({ method, path, headers = {}, body }: LoadRequest): Promise<void> {
  return new Promise((resolve) => {
    const begun = performance.now();
    const fail = (why: string) => {
      result.failure ??= `${method} ${path}: ${why}`;
      resolve();
    };
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const asked = request(
      { hostname, port, method, path, agent, headers: { ...headers, ...length } },
      (answer) => {
        const status = answer.statusCode ?? 0;
        let text = '';
        if (status < 400) answer.resume();
        else
          answer.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
        answer.on('error', (error) => fail(error.message));
        answer.on('end', () => {
          if (status >= 400) return fail(`${status} ${text.slice(0, 500)}`);
          result.milliseconds.push(performance.now() - begun);
          resolve();
        });
      },
    );
    asked.on('error', (error) => fail(error.message));
    asked.end(body);
  });
}
