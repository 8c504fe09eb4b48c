import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { linkedCommand } from './built.js';
import { readProcessorTime } from './process-figures.js';
import { startProcess } from './processes.js';
import { type Core, onCore, type Tools } from './tools.js';

export interface Server {
  url: string;
  pid: number;
  folder: string;
  /** The administrator token. */
  token: string;
  stop(): Promise<void>;
}

/**
 * Peers write no request log, and one client makes the load of many: its limits would be measured. Settings
 * of the caller take precedence.
 */
const SETTINGS = {
  KRMHUB_LOG_LEVEL: 'warn',
  KRMHUB_REQUESTS_PER_MINUTE: '0',
  KRMHUB_WRITES_PER_MINUTE: '0',
  // The setting of the container and the systemd unit.
  MALLOC_ARENA_MAX: '2',
};

/** `krmhub serve` as installed, on a free port. */
export async function startServer(
  tools: Tools,
  folder: string,
  options: { core?: Core; env?: Record<string, string> } = {},
): Promise<Server> {
  const serve = [linkedCommand, 'serve', '--host', '127.0.0.1', '--port', '0', '--data', folder];
  const started = await startProcess(onCore(tools, options.core ?? 'server', [process.execPath, ...serve]), {
    output: path.join(folder, 'bench.log'),
    until: /krmhub serves (http:\/\/\S+)/,
    env: { ...SETTINGS, ...process.env, ...options.env },
    milliseconds: 600_000,
  });
  return {
    // `localhost` may resolve to another address first, and is looked up for every connection.
    url: started.match[1]!.replace('localhost', '127.0.0.1'),
    pid: started.pid,
    folder,
    token: readFileSync(path.join(folder, 'admin.token'), 'utf8').trim(),
    stop: () => started.stop(),
  };
}

interface CatalogDetail {
  newest?: { serial: number; functions: number };
}

/** Returns the newest snapshot of a catalog; undefined if there is none yet. */
export async function newestSnapshot(
  { url, token }: Server,
  catalog: string,
): Promise<{ serial: number; functions: number } | undefined> {
  const response = await fetch(`${url}/api/v1/catalogs/${catalog}`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`the catalog ${catalog}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as CatalogDetail).newest;
}

/** Returns the seconds until `default` has this number of functions; undefined after `seconds`. */
export async function waitForBuild(
  server: Server,
  functions: number,
  seconds: number,
): Promise<number | undefined> {
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1000;
  while (elapsed() < seconds) {
    const newest = await newestSnapshot(server, 'default').catch(() => undefined);
    if (newest?.functions === functions) return elapsed();
    await setTimeout(100);
  }
  return undefined;
}

/** Waits until a server says that it is ready: one beside others builds its search index first. */
export async function waitUntilReady({ url }: Server): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await setTimeout(50);
  }
}

/** Milliseconds of processor time in a second of a server that only waits. */
const IDLE_MILLISECONDS = 30;
/** Seconds after which it is measured anyway. */
const IDLE_SECONDS = 30;

/** Waits until a server does nothing any more, for example because it compressed what it has just built. */
export async function waitUntilIdle({ pid }: Pick<Server, 'pid'>): Promise<void> {
  for (let second = 0; second < IDLE_SECONDS; second++) {
    const before = readProcessorTime(pid);
    await setTimeout(1_000);
    // Also where the system does not report it.
    if (!(readProcessorTime(pid) - before > IDLE_MILLISECONDS * 1_000)) return;
  }
}

/** Applies a recipe and waits until its catalog is built. */
export async function applyRecipe(server: Server, name: string, recipe: string): Promise<void> {
  const headers = { Authorization: `Bearer ${server.token}`, 'Content-Type': 'application/yaml' };
  const url = `${server.url}/api/v1/catalogs/${name}`;
  for (const [method, target, body] of [
    ['PUT', url, recipe],
    ['POST', `${url}/cut`, undefined],
  ] as const) {
    const response = await fetch(target, { method, headers, ...(body === undefined ? {} : { body }) });
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  }
}
