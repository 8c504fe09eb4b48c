import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from './processes.js';

/** Creates a repository below a folder with these files on a branch `main`, or commits them to it. Tags the commit. */
export function commitFiles(
  folder: string,
  name: string,
  files: Readonly<Record<string, string>>,
  tags: readonly string[] = [],
): void {
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
  for (const tag of tags) git(work, 'tag', tag);
  git(work, 'push', '--quiet', '--force', bare, 'main', ...tags);
}
