import type { SourceProblem } from '@krmhub/schema';
import { printable } from '@krmhub/schema/network-reason';
import { type FailureOptions, SourceFailure } from '../failure.js';

interface Explanation {
  pattern: RegExp;
  problem: SourceProblem;
  /** Follows the host. */
  message: string;
  hint?: string;
  isTemporary?: boolean;
}

/** What git says in the C locale, and what that means here. The first that fits is told. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /\bgit: not found|git: No such file/,
    problem: 'internal',
    message: 'cannot be read: git is not installed',
    hint: 'git has to be installed where this runs.',
  },
  {
    pattern: /\bssh: not found|cannot run ssh/,
    problem: 'internal',
    message: 'cannot be reached: ssh is not installed',
    hint: 'ssh has to be installed where this runs, or the repository be named by https.',
  },
  {
    pattern: /died of signal (?:25|SIGXFSZ)|File too large|File size limit exceeded/,
    problem: 'too-large',
    message: 'gives a repository that is too large',
    hint: 'Serve the catalog from a repository of its own, or by http.',
  },
  {
    pattern:
      /[Oo]ut of memory|malloc failed|mmap failed|Cannot allocate memory|died of signal (?:9|24|SIGXCPU|SIGKILL)|invalid index-pack output/,
    problem: 'too-large',
    message: 'gives a repository that takes too much memory or time to read',
    hint: 'Serve the catalog from a repository of its own, or by http.',
  },
  { pattern: /No space left on device/, problem: 'internal', message: 'cannot be read: the disk is full' },
  {
    pattern: /couldn't find remote ref|not our ref|unadvertised object|remote ref .* not found/,
    problem: 'not-found',
    message: 'has no such branch, tag or commit',
    hint: 'Commits are named by all of their digits.',
  },
  {
    pattern: /Host key verification failed/,
    problem: 'unauthorized',
    message: 'shows a key that is not among the known hosts',
    hint: 'Add its key to the known_hosts of the user that this runs as.',
  },
  {
    pattern:
      /Authentication failed|could not read (?:Username|Password)|Permission denied|returned error: 40[13]/,
    problem: 'unauthorized',
    message: 'does not let us read the repository',
    hint: 'It may want credentials for that origin, or has no such repository: some servers do not tell which.',
  },
  {
    pattern:
      /returned error: 4(?:04|10)|[Rr]epository (?:'.*' )?not found|does not appear to be a git repository/,
    problem: 'not-found',
    message: 'has no such repository',
    hint: 'Is that the address of the repository, as `git clone` takes it, with // after it?',
  },
  {
    pattern: /returned error: 3\d\d|redirect/i,
    problem: 'bad-answer',
    message: 'redirects to another address',
    hint: 'Write the address where the repository is now.',
  },
  {
    pattern: /Operation too slow|Operation timed out|Connection timed out|Timeout, server/,
    problem: 'too-slow',
    message: 'stood still while git was reading',
    hint: 'It is asked again later.',
  },
  {
    pattern: /dumb http transport/,
    problem: 'bad-answer',
    message: 'serves the files of a repository, and does not speak the protocol of git',
    hint: 'Name the file itself by http instead.',
  },
  {
    pattern:
      /not valid: is this a git repository|invalid (?:server response|literal)|bad line length|protocol error/,
    problem: 'bad-answer',
    message: 'does not answer as a server of git does',
    hint: 'Is that the address of the repository, as `git clone` takes it?',
  },
  {
    pattern:
      /returned error: (?:408|429|5\d\d)|Connection reset|early EOF|hung up|RPC failed|Empty reply|unexpected disconnect/,
    problem: 'unreachable',
    message: 'broke off while git was reading',
    hint: 'It is asked again later.',
    isTemporary: true,
  },
  {
    pattern:
      /Could not resolve host|Failed to connect|Connection refused|Network is unreachable|No route to host/,
    problem: 'unreachable',
    message: 'cannot be reached by git',
  },
  {
    pattern: /SSL|TLS|certificate/,
    problem: 'unreachable',
    message: 'cannot be reached by git: TLS fails',
    hint: 'git trusts the certificates of the system that this runs on.',
  },
];

/** Why git failed, in words for those who never see it run. */
export function explainGitError(host: string, said: string): SourceFailure {
  const known = EXPLANATIONS.find((explanation) => explanation.pattern.test(said));
  const cause = new Error(printable(said, 2_000));
  if (known === undefined) {
    return new SourceFailure(
      'bad-answer',
      `${printable(host)} cannot be read by git: ${firstErrorLine(said)}`,
      { cause },
    );
  }
  const { problem, message, hint, isTemporary: passing = false } = known;
  const options: FailureOptions = { cause, isTemporary: passing };
  return new SourceFailure(
    problem,
    `${printable(host)} ${message}`,
    hint === undefined ? options : { ...options, hint },
  );
}

function firstErrorLine(said: string): string {
  const lines = said.split('\n').filter((line) => line !== '');
  return printable(lines.find((line) => /^(?:fatal|error):/.test(line)) ?? lines[0] ?? 'it does not say why');
}
