import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

/** Git as servers have it: repositories below a folder, over HTTP on the loopback interface. */
export interface GitServer {
  url: string;
  close(): Promise<void>;
}

/** Serves the repositories of a folder by git's own CGI program (git-http-backend). */
export async function startGitServer(folder: string): Promise<GitServer> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://git');
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REQUEST_METHOD: request.method,
        PATH_INFO: decodeURIComponent(url.pathname),
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        ...(request.headers['content-encoding'] === undefined
          ? {}
          : { HTTP_CONTENT_ENCODING: String(request.headers['content-encoding']) }),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(child.stdin).on('error', () => undefined);
    let head = Buffer.alloc(0);
    let isBody = false;
    child.stdout.on('data', (piece: Buffer) => {
      if (isBody) {
        response.write(piece);
        return;
      }
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      isBody = true;
      for (const line of head.subarray(0, end).toString().split('\r\n')) {
        const [name = '', value = ''] = line.split(/:\s*/, 2);
        if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.write(head.subarray(end + 4));
    });
    child.on('close', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Makes a repository below a folder with these files on a branch `main`, or commits them to it. */
export function commitFiles(folder: string, name: string, files: Readonly<Record<string, string>>): void {
  const work = path.join(folder, `${name}.work`);
  const bare = path.join(folder, `${name}.git`);
  const git = (cwd: string, ...args: string[]) => {
    const author = [
      '-c',
      'user.name=Test',
      '-c',
      'user.email=test@example.com',
      '-c',
      'commit.gpgsign=false',
    ];
    const { status, stderr } = spawnSync('git', [...author, ...args], { cwd, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  };
  mkdirSync(work, { recursive: true });
  git(work, 'init', '--quiet', '--initial-branch=main');
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(work, file)), { recursive: true });
    writeFileSync(path.join(work, file), text);
  }
  git(work, 'add', '--all');
  git(work, 'commit', '--quiet', '--message', 'A catalog');
  mkdirSync(bare, { recursive: true });
  git(bare, 'init', '--quiet', '--bare', '--initial-branch=main');
  git(work, 'push', '--quiet', '--force', bare, 'main');
}
