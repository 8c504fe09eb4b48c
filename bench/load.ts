import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { benchFile } from './built.js';
import type { LoadPlan, LoadResult } from './load-client.js';
import { latency } from './measure.js';
import { runProcess } from './processes.js';
import type { PushPlan, PushResult } from './push-client.js';
import { onCore, type Tools } from './tools.js';

export const CONNECTIONS = 16;

export interface Throughput {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  p99: number;
}

/** wrk reports its measurements through a script; a script that only reports does not slow it down. */
const REPORT = `
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('{"requests":%d,"microseconds":%d,"p99":%d,"failed":%d}',
    summary.requests, summary.duration, latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout + errors.status))
end
`;
const MANY_PATHS = `
local requests = {}
local at = 0
init = function(args)
  for line in io.lines(args[1]) do requests[#requests + 1] = wrk.format('GET', line) end
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
`;

/**
 * Sends GETs, or HEADs, to one server over keep-alive connections for a time, sequentially on each
 * connection, from a separate process. Several paths are requested in turn.
 */
export async function getLoad(
  tools: Tools,
  load: {
    origin: string;
    paths: readonly string[];
    method?: 'GET' | 'HEAD';
    headers?: Record<string, string>;
    milliseconds: number;
    scratch: string;
    /** Where the server uses every core, the load shares the cores. */
    core?: 'load' | 'any';
    connections?: number;
  },
): Promise<Throughput> {
  const { origin, paths, method = 'GET', headers = {}, milliseconds, scratch } = load;
  const { core = 'load', connections = CONNECTIONS } = load;
  // wrk waits for the body of a response to HEAD.
  if (tools.load === 'node' || method === 'HEAD') {
    const requests = paths.map((one) => ({ method, path: one, headers }));
    const result = await clientLoad(tools, { origin, requests, connections, milliseconds }, scratch, core);
    const { length } = result.milliseconds;
    return { requests: length, perSecond: length / result.seconds, p99: latency(result.milliseconds).p99 };
  }
  const script = path.join(scratch, 'load.lua');
  const list = path.join(scratch, 'load.txt');
  await writeFile(script, paths.length > 1 ? REPORT + MANY_PATHS : REPORT);
  await writeFile(list, paths.map((one) => `${one}\n`).join(''));
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  const output = await runProcess(
    onCore(tools, core, [
      ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script],
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      ...[origin + paths[0]!, '--', list],
    ]),
  );
  const report = JSON.parse(/\{"requests".*\}/.exec(output)![0]) as Record<
    'requests' | 'microseconds' | 'p99' | 'failed',
    number
  >;
  if (report.failed > 0)
    throw new Error(`${report.failed} of ${report.requests} requests to ${origin}${paths[0]} failed`);
  return {
    requests: report.requests,
    perSecond: report.requests / (report.microseconds / 1e6),
    p99: report.p99 / 1000,
  };
}

let plans = 0;

/** Sends requests of any kind from a separate process; rejects if a response is not a success. */
export async function clientLoad(
  tools: Tools,
  plan: LoadPlan,
  scratch: string,
  core: 'load' | 'any' = 'load',
): Promise<LoadResult> {
  const file = path.join(scratch, `plan-${++plans}.json`);
  await writeFile(file, JSON.stringify(plan));
  const output = await runProcess(onCore(tools, core, [process.execPath, benchFile('load-client.js'), file]));
  const result = JSON.parse(output) as LoadResult;
  if (result.failure !== undefined) throw new Error(`load on ${plan.origin}: ${result.failure}`);
  return result;
}

/** Pushes new blobs to a registry from a separate process; rejects if a push fails. */
export async function pushLoad(tools: Tools, plan: PushPlan, scratch: string): Promise<PushResult> {
  const file = path.join(scratch, `plan-${++plans}.json`);
  await writeFile(file, JSON.stringify(plan));
  const output = await runProcess(
    onCore(tools, 'load', [process.execPath, benchFile('push-client.js'), file]),
  );
  const result = JSON.parse(output) as PushResult;
  if (result.failure !== undefined) throw new Error(`pushes to ${plan.origin}: ${result.failure}`);
  return result;
}
