import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { benchFile } from './built.js';
import type { HttpResource } from './peer-http.js';
import { startProcess } from './processes.js';
import { onCore, type Tools } from './tools.js';

export interface Peer {
  origin: string;
  pid: number;
  /** Conditional requests must name the peer's own tag. */
  etag(path: string): string;
  stop(): Promise<void>;
}

/** Headers that the HTTP implementation of the peer sets. */
const OWN_HEADERS = new Set([
  ...['connection', 'keep-alive', 'date', 'content-length', 'transfer-encoding', 'content-encoding'],
  ...['content-type', 'etag', 'vary'],
]);

/** Node's HTTP server alone: it serves the bytes and headers of our server's responses from memory. */
export async function startNodePeer(
  tools: Tools,
  scratch: string,
  resources: readonly HttpResource[],
): Promise<Peer> {
  const plan = path.join(scratch, 'peer.json');
  await writeFile(plan, JSON.stringify(resources));
  const started = await startProcess(
    onCore(tools, 'server', [process.execPath, benchFile('peer-http.js'), plan]),
    { output: path.join(scratch, 'peer.log'), until: /listening on (\d+)/ },
  );
  const tags = new Map(resources.map((one) => [one.path, one.headers.etag!]));
  return {
    origin: `http://127.0.0.1:${started.match[1]}`,
    pid: started.pid,
    etag: (of) => tags.get(of)!,
    stop: () => started.stop(),
  };
}

/** nginx with the same bytes as files, the compressed ones beside them, and the same headers. */
export async function startNginx(
  tools: Tools,
  scratch: string,
  resources: readonly HttpResource[],
): Promise<Peer> {
  const folder = path.join(scratch, 'nginx');
  const locations: string[] = [];
  for (const { path: name, headers, identity, gzip } of resources) {
    const file = path.join(folder, 'files', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, Buffer.from(identity, 'base64'));
    await writeFile(`${file}.gz`, Buffer.from(gzip, 'base64'));
    const lines = Object.entries(headers)
      .filter(([header]) => !OWN_HEADERS.has(header))
      .map(([header, value]) => `add_header ${header} ${JSON.stringify(value)};`);
    locations.push(`location = ${name} { ${lines.join(' ')} }`);
  }
  await mkdir(path.join(folder, 'temporary'), { recursive: true });
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/temporary/${name};`)
    .join(' ');
  await writeFile(
    path.join(folder, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr notice;
events { worker_connections 1024; }
http {
  access_log off;
  ${temporary}
  default_type application/yaml;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  open_file_cache max=100 inactive=600s;
  gzip_static on;
  gzip_vary on;
  server {
    listen 127.0.0.1:${port};
    root ${folder}/files;
    ${locations.join('\n    ')}
  }
}
`,
  );
  const line = onCore(tools, 'server', [
    'nginx',
    '-p',
    folder,
    '-c',
    path.join(folder, 'nginx.conf'),
    '-e',
    'stderr',
  ]);
  const started = await startProcess(line, {
    output: path.join(folder, 'nginx.log'),
    until: /start worker process/,
  });
  const origin = `http://127.0.0.1:${port}`;
  const tags = new Map<string, string>();
  for (const { path: name } of resources) {
    const answer = await fetch(origin + name, { headers: { 'Accept-Encoding': 'identity' } });
    await answer.arrayBuffer();
    tags.set(name, answer.headers.get('etag') ?? '');
  }
  return { origin, pid: started.pid, etag: (of) => tags.get(of)!, stop: () => started.stop() };
}

/** The registry of the distribution project with its blobs in a folder, without users. */
export async function startDockerRegistry(
  tools: Tools,
  scratch: string,
): Promise<Pick<Peer, 'origin' | 'pid' | 'stop'>> {
  const folder = path.join(scratch, 'docker-registry');
  await mkdir(folder);
  const address = `127.0.0.1:${await freePort()}`;
  const configuration = path.join(folder, 'config.json');
  // JSON is also YAML.
  const settings = {
    version: 0.1,
    log: { level: 'info', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: path.join(folder, 'data') } },
    http: { addr: address },
  };
  await writeFile(configuration, JSON.stringify(settings));
  const started = await startProcess(onCore(tools, 'server', ['docker-registry', 'serve', configuration]), {
    output: path.join(folder, 'log'),
    until: /listening on/,
  });
  return { origin: `http://${address}`, pid: started.pid, stop: () => started.stop() };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
