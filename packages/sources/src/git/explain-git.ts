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

/** Error messages of git in the C locale, and their meaning. The first match counts. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /\bgit: not found|git: No such file/,
    problem: 'internal',
    message: 'cannot be fetched: git is not installed',
    hint: 'Install git on this machine.',
  },
  {
    pattern: /\bssh: not found|cannot run ssh/,
    problem: 'internal',
    message: 'cannot be reached: ssh is not installed',
    hint: 'Install ssh on this machine, or use an https URL.',
  },
  {
    pattern: /died of signal (?:25|SIGXFSZ)|File too large|File size limit exceeded/,
    problem: 'too-large',
    message: 'has a repository that is too large',
    hint: 'Move the catalog to a separate repository, or serve it over HTTP.',
  },
  {
    pattern:
      /[Oo]ut of memory|malloc failed|mmap failed|Cannot allocate memory|died of signal (?:9|24|SIGXCPU|SIGKILL)|invalid index-pack output/,
    problem: 'too-large',
    message: 'has a repository that takes too much memory or time',
    hint: 'Move the catalog to a separate repository, or serve it over HTTP.',
  },
  { pattern: /No space left on device/, problem: 'internal', message: 'cannot be fetched: the disk is full' },
  {
    pattern: /couldn't find remote ref|not our ref|unadvertised object|remote ref .* not found/,
    problem: 'not-found',
    message: 'does not have this branch, tag, or commit',
    hint: 'Use the full commit hash.',
  },
  {
    pattern: /Host key verification failed/,
    problem: 'unauthorized',
    message: 'has an ssh host key that is not in known_hosts',
    hint: 'Add the key to the known_hosts file of the user that runs krmhub.',
  },
  {
    pattern:
      /Authentication failed|could not read (?:Username|Password)|Permission denied|returned error: 40[13]/,
    problem: 'unauthorized',
    message: 'denies access to the repository',
    hint: 'Check the credentials and the repository name. Some servers report both problems the same way.',
  },
  {
    pattern:
      /returned error: 4(?:04|10)|[Rr]epository (?:'.*' )?not found|does not appear to be a git repository/,
    problem: 'not-found',
    message: 'does not have this repository',
    hint: 'Use the URL for `git clone`, followed by // and the path.',
  },
  {
    pattern: /returned error: 3\d\d|redirect/i,
    problem: 'bad-answer',
    message: 'redirects to another address',
    hint: 'Use the current URL of the repository.',
  },
  {
    pattern: /Operation too slow|Operation timed out|Connection timed out|Timeout, server/,
    problem: 'too-slow',
    message: 'sent no data to git',
    hint: 'Try again later.',
  },
  {
    pattern: /dumb http transport/,
    problem: 'bad-answer',
    message: 'serves the files of a repository without the git protocol',
    hint: 'Use the HTTP URL of the file instead.',
  },
  {
    pattern:
      /not valid: is this a git repository|invalid (?:server response|literal)|bad line length|protocol error/,
    problem: 'bad-answer',
    message: 'is not a git server',
    hint: 'Use the URL for `git clone`.',
  },
  {
    pattern:
      /returned error: (?:408|429|5\d\d)|Connection reset|early EOF|hung up|RPC failed|Empty reply|unexpected disconnect/,
    problem: 'unreachable',
    message: 'closed the connection to git',
    hint: 'Try again later.',
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
    message: 'cannot be reached by git: the TLS handshake failed',
    hint: 'Add the certificate authority to the trust store of the system. On your machine, you can also set `http.sslCAInfo` in the git configuration.',
  },
];

/** Converts the error output of git. */
export function explainGitError(host: string, stderr: string): SourceFailure {
  const known = EXPLANATIONS.find((explanation) => explanation.pattern.test(stderr));
  const cause = new Error(printable(stderr, 2_000));
  if (known === undefined) {
    return new SourceFailure(
      'bad-answer',
      `git cannot fetch from ${printable(host)}: ${firstErrorLine(stderr)}`,
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

function firstErrorLine(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line !== '');
  return printable(lines.find((line) => /^(?:fatal|error):/.test(line)) ?? lines[0] ?? 'no error message');
}
