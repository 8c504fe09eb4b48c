import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RegistryClient } from '@krmhub/api/client';
import type { PendingLogin } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls } from '@krmhub/schema/text';
import { interruptible, watchForStop } from '../io/interrupt.js';
import type { Io } from '../io/io.js';
import { openBrowser } from '../io/open-browser.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';

/** Seconds between two questions that a registry can ask for. */
const MAX_INTERVAL_SECONDS = 60;
/** Questions that the registry does not answer, one after the other. */
const MAX_FAILURES = 10;
/** Code as the registry makes it; nothing else is printed as one. */
const CODE = /^[0-9A-Z]{4}-[0-9A-Z]{4}$/;

/**
 * Signs in on the page of the registry: prints a code, opens the page, and waits until the user has allowed it there.
 * Returns the token; undefined if the registry has no such page, or no users who could sign in there. Rejects with
 * `forbidden` if the user denies it, and with `gone` if nobody answers in time.
 */
export async function signInOnPage(
  io: Io,
  client: RegistryClient,
  { browser }: { browser: boolean },
): Promise<string | undefined> {
  const login = await startLogin(client);
  if (login?.hasUsers !== true) return undefined;
  const page = readPage(login, client.url);
  await printLine(io, `to sign in, open this page, and check that it shows the code ${login.code}:`);
  await printLine(io, `  ${page.href}`);
  if (page.origin !== new URL(client.url).origin) {
    await printLine(
      io,
      `the page is not at ${client.url}: open it only if you know that the registry is there too`,
    );
  } else if (browser && (await openBrowser(io, page))) await printLine(io, 'your browser opens it');
  const signal = watchForStop(io, 'the login was canceled');
  const progress = new Progress(io);
  try {
    return await waitForAnswer(io, client, login, { signal, progress });
  } finally {
    await progress.clear();
  }
}

async function startLogin(client: RegistryClient): Promise<PendingLogin | undefined> {
  try {
    return await client.requestLogin({ client: deviceName() });
  } catch (error) {
    // A registry of an older version.
    const isUnknown =
      error instanceof KrmhubError && ['not-found', 'method-not-allowed'].includes(error.code);
    if (isUnknown) return undefined;
    throw error;
  }
}

/** The registry refuses other names. */
function deviceName(): string {
  const name = hostname().replaceAll(/[^\x21-\x7e]+/g, '-');
  return name === '' ? 'krmhub' : name.slice(0, 100);
}

/** A registry that does not know its URL names only the path. */
function readPage({ page, code }: PendingLogin, registry: string): URL {
  const url = page.startsWith('/') ? parseUrl(registry + page) : parseUrl(page);
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && CODE.test(code))
    return url;
  throw new KrmhubError('unreachable', escapeControls(`${registry} names no page on which to sign in`), {
    hint: `Use a token: krmhub login ${registry} --token-stdin`,
  });
}

async function waitForAnswer(
  io: Io,
  client: RegistryClient,
  { secret, interval }: PendingLogin,
  { signal, progress }: { signal: AbortSignal; progress: Progress },
): Promise<string> {
  const seconds = Math.min(Math.max(interval, 1), MAX_INTERVAL_SECONDS);
  await progress.show('waiting until you allow it on the page; Ctrl-C cancels');
  for (let failures = 0; ; ) {
    await sleep(seconds * 1_000, undefined, { signal }).catch(() => {
      throw signal.reason;
    });
    try {
      const { state, token } = await interruptible(client.loginToken({ secret }), signal);
      if (state === 'approved' && token !== undefined) return token;
      failures = 0;
    } catch (error) {
      failures++;
      if (!isTemporary(error) || failures === MAX_FAILURES) throw error;
      io.trace?.('the registry does not answer: trying again');
    }
  }
}

/** A registry that restarts, or a network that fails. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof KrmhubError)) return false;
  return error.code === 'unavailable' || (error.code === 'unreachable' && error.cause !== undefined);
}
