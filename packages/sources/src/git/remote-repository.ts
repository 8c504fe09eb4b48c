import { printable } from '@krmhub/schema/network-reason';
import { SourceFailure, tooLargeFailure } from '../failure.js';
import { explainGitError } from './explain-git.js';
import { type GitRun, runGit } from './run-git.js';

/** The first version with `http.curloptResolve`, which pins the checked address. */
const MIN_GIT_VERSION = [2, 37] as const;
/** Local ref of the fetched commit. */
const FETCHED_REF = 'refs/krmhub/source';
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** Errors of servers with partial clones that do not serve single objects. */
const MISSING_OBJECT = /unadvertised object|not our ref|not advertised|unknown object/;
const FETCH = [
  'fetch',
  '--quiet',
  '--no-tags',
  '--no-recurse-submodules',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
];
const LINK = '120000';
const SUBMODULE = '160000';
const FOLDER = '040000';
/** Of the line that git prints before each object. */
const MAX_HEADER_BYTES = 100;
const EXECUTABLE = '100755';
const FILES = ['100644', EXECUTABLE, '100664'];

interface Entry {
  mode: string;
  object: string;
}

/** A regular file below a folder. */
export interface ListedFile {
  path: string;
  object: string;
  isExecutable: boolean;
  /** A symbolic link, whose contents are its target. */
  isLink: boolean;
}

/** A file whose contents have been fetched. */
export interface RepositoryFile extends ListedFile {
  /** Bytes. */
  size: number;
}

/**
 * One commit of a remote repository, fetched into a bare repository. Objects are read without a checkout, so that
 * hooks, filters, links and submodules have no effect. Rejects with SourceFailures only.
 */
export class RemoteRepository {
  readonly #url: URL;
  readonly #run: GitRun;
  /** For messages. */
  readonly #host: string;
  /** What was fetched without file contents, for a second fetch with them. */
  #refspecs: readonly string[] | undefined;

  constructor(url: URL, run: GitRun) {
    this.#url = url;
    this.#host = url.host === '' ? url.pathname : url.host;
    this.#run = run;
  }

  async checkVersion(): Promise<void> {
    const said = (await this.#git(['version'])).toString('utf8');
    const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(said) ?? []).map(Number);
    const [wantedMajor, wantedMinor] = MIN_GIT_VERSION;
    if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
    throw new SourceFailure('internal', `${printable(said.trim(), 50)} is too old`, {
      hint: `Install git ${MIN_GIT_VERSION.join('.')} or newer.`,
    });
  }

  /** Resolves a branch, a tag, another ref, or a commit; by default the default branch. */
  async resolveRef(name: string | undefined): Promise<{ ref: string; commit: string }> {
    if (name !== undefined && COMMIT.test(name)) return { ref: name, commit: name };
    // Like git (gitrevisions): `HEAD` and whole names, then `heads/main` or `pull/1/head`. A tag precedes a branch.
    const wanted =
      name === undefined ? ['HEAD'] : [name, `refs/${name}`, `refs/tags/${name}`, `refs/heads/${name}`];
    const patterns = wanted.flatMap((ref) => [ref, `${ref}^{}`]);
    const listed = await this.#git(['ls-remote', '--', this.#url.href, ...patterns]);
    const refs = new Map<string, string>();
    for (const line of listed.toString('latin1').split('\n')) {
      const [object = '', ref = ''] = line.split('\t');
      if (COMMIT.test(object)) refs.set(ref, object);
    }
    const ref = wanted.find((one) => refs.has(one));
    if (ref !== undefined) return { ref, commit: refs.get(`${ref}^{}`) ?? refs.get(ref)! };
    throw new SourceFailure(
      'not-found',
      name === undefined
        ? `${this.#host} has no commits in this repository`
        : `${this.#host} has no branch or tag "${printable(name)}" in this repository`,
      {
        hint:
          name === undefined
            ? 'Use the URL for `git clone`.'
            : 'Set ?ref= to a branch, a tag, or a full commit hash.',
      },
    );
  }

  /** Fetches one commit, if possible without file contents, and returns its hash. */
  async fetch(ref: string, commit: string): Promise<string> {
    const format = commit.length === 64 ? 'sha256' : 'sha1';
    await this.#init(format);
    await this.#fetchTrees([`+${ref}:${FETCHED_REF}`]);
    const { ok, output } = await runGit(['rev-parse', '--verify', `${FETCHED_REF}^{commit}`], this.#run);
    const fetched = output.toString('latin1').trim();
    if (ok && COMMIT.test(fetched)) return fetched;
    throw new SourceFailure('bad-answer', `${printable(ref)} of ${this.#host} is not a commit`, {
      hint: 'Set ?ref= to a branch, a tag, or a commit.',
    });
  }

  /** Lists all tags, with the commits that they name. */
  async listTags(): Promise<Map<string, string>> {
    const { maxGitFolderListBytes } = this.#run.limits;
    const listed = await this.#git(['ls-remote', '--tags', '--', this.#url.href], maxGitFolderListBytes);
    const tags = new Map<string, string>();
    for (const line of listed.toString('latin1').split('\n')) {
      const [object = '', ref = ''] = line.split('\t');
      const [, name, peeled] = /^refs\/tags\/(.*?)(\^\{\})?$/.exec(ref) ?? [];
      // An annotated tag is followed by the commit that it names.
      if (name !== undefined && COMMIT.test(object) && (peeled !== undefined || !tags.has(name)))
        tags.set(name, object);
    }
    return tags;
  }

  /** Fetches tags and another ref, if possible without file contents. Returns their local refs. */
  async fetchTags(
    tags: readonly string[],
    { ref, format }: { ref: string; format: 'sha1' | 'sha256' },
  ): Promise<{ head: string; tags: string[] }> {
    await this.#init(format);
    const refs = tags.map((_, index) => `${FETCHED_REF}-${index}`);
    await this.#fetchTrees([
      `+${ref}:${FETCHED_REF}`,
      ...tags.map((tag, index) => `+refs/tags/${tag}:${refs[index]}`),
    ]);
    return { head: FETCHED_REF, tags: refs };
  }

  /** Reports whether a path is a folder; the empty path is the root. */
  async isFolder(commit: string, path: string): Promise<boolean> {
    return path === '' || (await this.#findEntry(commit, path))?.mode === FOLDER;
  }

  /** Lists the regular files below folders, or the files themselves, and links if wanted. The empty path is the root. */
  async listFiles(
    commit: string,
    paths: readonly string[],
    { links = false }: { links?: boolean } = {},
  ): Promise<ListedFile[]> {
    const modes = links ? [...FILES, LINK] : FILES;
    const below = paths.includes('') ? [] : ['--', ...paths];
    const { maxGitFolderListBytes } = this.#run.limits;
    const listed = await this.#git(
      ['ls-tree', '-rz', '--full-tree', commit, ...below],
      maxGitFolderListBytes,
    );
    return listed
      .toString('utf8')
      .split('\0')
      .flatMap((line) => {
        const [, mode = '', object = '', name] = /^(\d{6}) \w+ ([0-9a-f]+)\t(.*)$/s.exec(line) ?? [];
        if (name === undefined || !modes.includes(mode)) return [];
        return [{ path: name, object, isExecutable: mode === EXECUTABLE, isLink: mode === LINK }];
      });
  }

  /**
   * Fetches the contents of listed files in one request, and adds their sizes. `all` if they are most of the files of
   * the commit.
   */
  async fetchFiles(
    files: readonly ListedFile[],
    { all = false }: { all?: boolean } = {},
  ): Promise<RepositoryFile[]> {
    if (files.length === 0) return [];
    const objects = `${[...new Set(files.map(({ object }) => object))].join('\n')}\n`;
    if (this.#refspecs !== undefined && !all) {
      // As git fetches the objects that a partial clone lacks.
      const args = ['-c', 'fetch.negotiationAlgorithm=noop', ...FETCH, '--filter=blob:none', '--stdin'];
      const { ok, stderr } = await runGit([...args, '--', this.#url.href], this.#run, undefined, objects);
      // A server that does not serve single objects.
      if (!ok && !MISSING_OBJECT.test(stderr)) throw explainGitError(this.#host, stderr);
      if (!ok) await this.#fetchContents();
    } else await this.#fetchContents();
    const { maxGitFolderListBytes } = this.#run.limits;
    const asked = ['cat-file', '--batch-check=%(objectname) %(objecttype) %(objectsize)'];
    const { ok, output, stderr } = await runGit(asked, this.#run, maxGitFolderListBytes, objects);
    if (!ok) throw explainGitError(this.#host, stderr);
    const sizes = new Map<string, number>();
    for (const line of output.toString('latin1').split('\n')) {
      const [, object, size] = /^([0-9a-f]+) blob (\d+)$/.exec(line) ?? [];
      if (object !== undefined) sizes.set(object, Number(size));
    }
    return files.map((file) => {
      const size = sizes.get(file.object);
      if (size !== undefined) return { ...file, size };
      throw new SourceFailure('bad-answer', `cannot read "${printable(file.path)}" of ${this.#host}`);
    });
  }

  /** Reads the contents of listed files, in their order. */
  async readFiles(files: readonly RepositoryFile[]): Promise<Uint8Array[]> {
    if (files.length === 0) return [];
    const size = files.reduce((sum, one) => sum + one.size + MAX_HEADER_BYTES, 0);
    const asked = `${files.map(({ object }) => object).join('\n')}\n`;
    const { ok, output, stderr } = await runGit(['cat-file', '--batch'], this.#run, size, asked);
    if (!ok) throw explainGitError(this.#host, stderr);
    let at = 0;
    return files.map((file) => {
      const start = output.indexOf(0x0a, at) + 1;
      if (output.subarray(at, start).toString('latin1') !== `${file.object} blob ${file.size}\n`) {
        throw new SourceFailure('bad-answer', `cannot read "${printable(file.path)}" of ${this.#host}`);
      }
      at = start + file.size + 1;
      return output.subarray(start, start + file.size);
    });
  }

  /** Reads a regular file. */
  async readFile(commit: string, path: string, maxBytes: number): Promise<Uint8Array> {
    const entry = await this.#findEntry(commit, path);
    if (entry === undefined) throw await this.#missingPathFailure(commit, path);
    this.#checkKind(entry, path);
    const { object } = entry;
    const what = `"${printable(path)}" of ${this.#host}`;
    const size = await this.#readSize(object);
    if (!(size <= maxBytes)) throw tooLargeFailure(what, maxBytes);
    return this.#git(['cat-file', 'blob', object], maxBytes);
  }

  /** Returns undefined if there is no regular file with this path. */
  async readFileIfExists(commit: string, path: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const entry = await this.#findEntry(commit, path);
    if (entry === undefined || !FILES.includes(entry.mode)) return undefined;
    return this.readFile(commit, path, maxBytes);
  }

  async #init(format: 'sha1' | 'sha256'): Promise<void> {
    await this.#git(['init', '--quiet', '--bare', '--template=', `--object-format=${format}`]);
  }

  /** Fetches one commit for each refspec, if possible without file contents. */
  async #fetchTrees(refspecs: readonly string[]): Promise<void> {
    await this.#fetch(refspecs, ['--filter=blob:none']);
    this.#refspecs = refspecs;
  }

  /** Fetches the contents of all files that the first fetch left out. */
  async #fetchContents(): Promise<void> {
    if (this.#refspecs === undefined) return;
    await this.#fetch(this.#refspecs, ['--no-filter', '--refetch']);
    this.#refspecs = undefined;
  }

  async #fetch(refspecs: readonly string[], options: readonly string[]): Promise<void> {
    await this.#git([...FETCH, '--depth=1', ...options, '--', this.#url.href, ...refspecs]);
  }

  /** Returns the size of a file. git fetches the object if the partial clone lacks it. */
  async #readSize(object: string): Promise<number> {
    const ask = ['cat-file', '-s', object];
    const { ok, output, stderr: said } = await runGit(ask, this.#run);
    if (ok) return Number(output.toString('latin1'));
    if (this.#refspecs === undefined || !MISSING_OBJECT.test(said)) throw explainGitError(this.#host, said);
    await this.#fetchContents();
    return Number((await this.#git(ask)).toString('latin1'));
  }

  async #findEntry(commit: string, path: string): Promise<Entry | undefined> {
    const listed = (await this.#git(['ls-tree', '-z', '--full-tree', commit, '--', path])).toString('utf8');
    for (const line of listed.split('\0')) {
      const [, mode = '', object = '', name] = /^(\d{6}) \w+ ([0-9a-f]+)\t(.*)$/s.exec(line) ?? [];
      if (name === path && COMMIT.test(object)) return { mode, object };
    }
    return undefined;
  }

  #checkKind({ mode }: Entry, path: string): void {
    if (FILES.includes(mode)) return;
    const what = mode === LINK ? 'a symbolic link' : mode === SUBMODULE ? 'a submodule' : 'a folder';
    const why = mode === LINK || mode === SUBMODULE ? ', which is not followed' : '';
    throw new SourceFailure('bad-answer', `"${printable(path)}" of ${this.#host} is ${what}${why}`, {
      hint: 'Use the path of the catalog file itself.',
    });
  }

  /** Explains why a path does not exist. */
  async #missingPathFailure(commit: string, path: string): Promise<SourceFailure> {
    const parts = path.split('/');
    for (let length = 1; length < parts.length; length++) {
      const above = parts.slice(0, length).join('/');
      const entry = await this.#findEntry(commit, above);
      if (entry === undefined) break;
      if (entry.mode === LINK || entry.mode === SUBMODULE) this.#checkKind(entry, above);
    }
    return new SourceFailure(
      'not-found',
      `"${printable(path)}" not found in the repository of ${this.#host} at ${commit.slice(0, 12)}`,
      { hint: 'Check the ref, and the path relative to the repository root.' },
    );
  }

  async #git(args: readonly string[], maxOutputBytes?: number): Promise<Buffer> {
    const { ok, output, stderr: said } = await runGit(args, this.#run, maxOutputBytes);
    if (!ok) throw explainGitError(this.#host, said);
    return output;
  }
}
