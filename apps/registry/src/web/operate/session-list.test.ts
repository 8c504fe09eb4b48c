import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { openTestRegistry } from '../../testing/test-registry.js';
import { userSignedIn } from '../../testing/user-session.js';

type Browser = Awaited<ReturnType<typeof userSignedIn>>;
interface Alive {
  browser: Browser;
  subject: string;
  endsAt: number;
}

const MINUTE = 60_000;
/** As `userSignedIn` has them. */
const MAX_OF_USER = 10;
const HOUR = 60 * MINUTE;

it('the list of sessions has those of the user that work, whatever began and ended before', async () => {
  const registry = await openTestRegistry();
  const random = new Random(5);
  const now = () => registry.parts.clock().getTime();
  let alive: Alive[] = [];
  const ended: Browser[] = [];
  const end = (which: (one: Alive) => boolean) => {
    ended.push(...alive.filter(which).map(({ browser }) => browser));
    alive = alive.filter((one) => !which(one));
  };
  const steps: Record<string, () => Promise<void>> = {
    async begin() {
      const subject = random.pick(['a', 'b', 'c']);
      const browser = await userSignedIn(registry, { subject });
      const own = alive.filter((one) => one.subject === subject);
      if (own.length === MAX_OF_USER) end((one) => one === own[0]);
      alive.push({ browser, subject, endsAt: now() + HOUR });
    },
    async endOne() {
      const by = random.pick(alive);
      const listed = [
        ...(await by.browser.text('/operate')).matchAll(/\/operate\/sessions\/[0-9a-f]{16}\/end/g),
      ];
      // The newest first, without the one that reads it.
      const others = alive.filter((one) => one.subject === by.subject && one !== by).reverse();
      expect(listed).toHaveLength(others.length);
      if (others.length === 0) return;
      const at = random.below(others.length);
      const formKey = await by.browser.formKey();
      expect((await by.browser.post(listed[at]![0], { formKey })).status).toBe(303);
      end((one) => one === others[at]);
    },
    async endOthers() {
      const by = random.pick(alive);
      const formKey = await by.browser.formKey();
      expect((await by.browser.post('/operate/sessions/end', { formKey })).status).toBe(303);
      end((one) => one.subject === by.subject && one !== by);
    },
    async signOut() {
      const by = random.pick(alive);
      const cookie = by.browser.cookie;
      const formKey = await by.browser.formKey();
      await by.browser.post('/sign-out', { formKey });
      by.browser.cookie = cookie;
      end((one) => one === by);
    },
    async wait() {
      registry.advance(random.below(20) * MINUTE);
      end(({ endsAt }) => endsAt <= now());
    },
  };
  const names = [...Array(6).fill('begin'), 'endOne', 'endOne', 'endOthers', 'signOut', 'wait'];
  try {
    for (let step = 0; step < 120; step += 1) {
      const name = alive.length === 0 ? 'begin' : random.pick(names);
      await steps[name]!();
      for (const { browser, subject } of random.some(alive, 0.2)) {
        const page = await browser.text('/operate');
        const own = alive.filter((one) => one.subject === subject);
        expect([step, name, page.match(/this one</g)?.length]).toEqual([step, name, 1]);
        expect([step, name, page.match(/>started /g)?.length]).toEqual([step, name, own.length]);
      }
      if (ended.length > 0) {
        const { cookie } = random.pick(ended);
        const headers = { Cookie: cookie, Accept: 'text/html' };
        expect((await registry.request('/operate', { headers })).status, `${step} ${name}`).toBe(303);
      }
    }
  } finally {
    await registry.close();
  }
});
