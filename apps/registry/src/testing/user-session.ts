import { randomBytes, randomUUID } from 'node:crypto';
import type { UserRecord } from '@krmhub/catalog';
import { sessionHash } from '../web/operate/sessions.js';
import { TestBrowser } from './operator-session.js';
import type { TestRegistry } from './test-registry.js';

const SESSION_MILLISECONDS = 3_600_000;

/** Returns the browser of a user, as after signing in with a provider. */
export async function userSignedIn(
  registry: TestRegistry,
  {
    name = 'Ada',
    groups = [],
    subject = randomUUID(),
  }: { name?: string; groups?: string[]; subject?: string } = {},
): Promise<TestBrowser & { user: UserRecord }> {
  const { store, clock } = registry.parts;
  const at = clock().toISOString();
  const found = { issuer: 'https://sso.example.com', subject, name, groups };
  const user = await store.confirmUser(found, { at, isSignIn: true });
  const id = randomBytes(32).toString('base64url');
  const expiresAt = new Date(clock().getTime() + SESSION_MILLISECONDS).toISOString();
  const session = { hash: sessionHash(id), user: user.id, createdAt: at, expiresAt };
  await store.beginSession(session, { maxOfOne: 10, max: 1_000 }, { at, by: name });
  const browser = new TestBrowser(registry);
  browser.cookie = `krmhub-user=${id}`;
  return Object.assign(browser, { user });
}
