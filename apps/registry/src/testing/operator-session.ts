import { tmpdir } from 'node:os';
import { createLog } from '../log.js';
import { SignInProviders } from '../sign-in/sign-in-providers.js';
import { SignIns } from '../sign-in/sign-ins.js';
import type { RegistryStore } from '../store/registry-store.js';
import { Sessions } from '../web/operate/sessions.js';
import type { TestRegistry } from './test-registry.js';

/** Returns the sessions of a store, without identity providers. */
export function tokenSessions(store: RegistryStore): Sessions {
  const clock = () => new Date();
  const signIn = new SignInProviders({}, { temporaryFolder: tmpdir(), clock });
  const log = createLog('error', { write: () => undefined });
  return new Sessions(store, new SignIns({ store, signIn, clock, log }));
}

const ORIGIN = 'http://registry.test';

/** A browser session on the operators' pages, with its cookie. For tests. */
export class TestBrowser {
  readonly registry: Pick<TestRegistry, 'request'>;
  readonly #origin: string;
  readonly #jar = new Map<string, string>();
  /** The last Set-Cookie. */
  setCookie = '';

  constructor(registry: Pick<TestRegistry, 'request'>, origin: string = ORIGIN) {
    this.registry = registry;
    this.#origin = origin;
  }

  /** Value of the `Cookie` header. */
  get cookie(): string {
    return [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  set cookie(text: string) {
    this.#jar.clear();
    for (const [, name = '', value = ''] of text.matchAll(/([^=; ]+)=([^;]*)/g)) this.#jar.set(name, value);
  }

  async get(target: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#saveCookies(
      await this.registry.request(target, {
        headers: { Accept: 'text/html', ...this.#cookies(), ...headers },
      }),
    );
  }

  /** Returns the HTML of a page. */
  async text(target: string): Promise<string> {
    return (await this.get(target)).text();
  }

  /** Sends a form like a browser. */
  async post(
    target: string,
    fields: Record<string, string | string[]>,
    headers: Record<string, string | undefined> = {},
  ): Promise<Response> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) body.append(name, one.replaceAll('\n', '\r\n'));
    }
    const all = {
      Accept: 'text/html',
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: this.#origin,
      'Sec-Fetch-Site': 'same-origin',
      ...this.#cookies(),
      ...headers,
    };
    const sent = Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined);
    return this.#saveCookies(
      await this.registry.request(target, { method: 'POST', headers: sent, body: body.toString() }),
    );
  }

  signIn(token: string, from = '/operate'): Promise<Response> {
    return this.post('/sign-in', { token, from });
  }

  /** Returns the key that every form of the session contains. */
  async formKey(page = '/operate'): Promise<string> {
    const key = /name="formKey" value="([^"]+)"/.exec(await this.text(page))?.[1];
    if (key === undefined) throw new Error(`${page} has no form of a session`);
    return key;
  }

  /** Sends a form of the session. */
  async act(target: string, fields: Record<string, string | string[]> = {}): Promise<Response> {
    return this.post(target, { formKey: await this.formKey(), ...fields });
  }

  #cookies(): Record<string, string> {
    return this.cookie === '' ? {} : { Cookie: this.cookie };
  }

  #saveCookies(response: Response): Response {
    for (const set of response.headers.getSetCookie()) {
      this.setCookie = set;
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/max-age=0/i.test(set)) this.#jar.delete(name);
      else this.#jar.set(name, value);
    }
    return response;
  }
}

/** Returns a session that is signed in with a new token. */
export async function signedIn(
  registry: TestRegistry,
  wanted: Parameters<TestRegistry['token']>[0] = {},
): Promise<TestBrowser & { tokenId: string; secret: string }> {
  const browser = new TestBrowser(registry);
  const { id, secret } = await registry.token(wanted);
  const response = await browser.signIn(secret);
  if (response.status !== 303) throw new Error(`signing in was answered by ${response.status}`);
  return Object.assign(browser, { tokenId: id, secret });
}
