import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signedIn } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { userSignedIn } from '../../testing/user-session.js';

const PAGE = '/operate/publishers';
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
${['red', 'blue', 'green'].map((team) => `  - {name: ${team}, members: [{ssoGroup: ${team}}]}`).join('\n')}
  groups: [{pattern: red.example.com, owner: red}, {pattern: blue.example.com, owner: blue}]
`;
let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  const headers = { Authorization: await registry.bearer(), 'Content-Type': 'application/yaml' };
  const applied = await registry.request('/api/v1/access', { method: 'PUT', headers, body: ACCESS });
  expect(applied.status).toBe(200);
});
afterAll(() => registry.close());

const form = (more: Record<string, string> = {}) => ({
  ...{ target: 'red.example.com', provider: 'github', pins: '', issuer: '', keys: '' },
  settings: 'repository=acme/tools\nworkflow = release.yml\n',
  ...more,
});
const words = (page: string) => page.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
const stored = () => registry.parts.store.trustedPublishers();
const ofTeam = (team: string) => userSignedIn(registry, { groups: [team] });

describe('the trusted publishers of a team', () => {
  it('are added, shown, and removed by its own users only', async () => {
    const [red, blue] = [await ofTeam('red'), await ofTeam('blue')];
    const added = await red.act(PAGE, form({ pins: 'repositoryId=1' }));
    const [publisher] = await stored();
    expect([added.status, added.headers.get('location')]).toEqual([303, `${PAGE}?added=${publisher?.id}`]);
    expect(publisher).toMatchObject({
      ...{ group: 'red.example.com', team: 'red', pins: { repositoryId: '1' } },
      settings: { repository: 'acme/tools', workflow: 'release.yml' },
    });
    expect(words(await red.text(`${PAGE}?added=${publisher!.id}`))).toContain('The workflow may publish');
    for (const page of [PAGE, `${PAGE}?added=${publisher!.id}`])
      expect(await blue.text(page)).not.toContain('acme/tools');

    const path = `${PAGE}/${publisher!.id}/remove`;
    expect((await blue.act(path)).status).toBe(403);
    expect((await blue.act(PAGE, form({ settings: 'repository=a/b\nworkflow=c.yml' }))).status).toBe(403);
    expect(await stored()).toHaveLength(1);
    expect((await red.act(path)).status).toBe(303);
    expect(await stored()).toEqual([]);
    expect((await red.act(path)).status).toBe(403);
  });

  it('are added only by those who own a group, and said to wait for a public URL', async () => {
    const [red, none] = [await ofTeam('red'), await ofTeam('green')];
    expect(await red.text(PAGE)).toContain('id="add-publisher"');
    const page = await none.text(PAGE);
    expect(page).not.toContain('id="add-publisher"');
    expect(words(page)).toContain('You own no group.');
    expect(words(page)).toContain('The registry does not know its public URL');
    const token = await signedIn(registry, { scopes: ['publish'], team: 'red' });
    const closed = await token.text(PAGE);
    expect(closed).not.toContain('id="add-publisher"');
    expect(words(closed)).toContain('This token changes none.');
    expect((await token.act(PAGE, form())).status).toBe(403);
    expect((await red.act(PAGE, form())).status).toBe(303);
    const { id } = (await stored())[0]!;
    expect(await token.text(PAGE)).not.toContain(`${id}/remove`);
    expect((await token.act(`${PAGE}/${id}/remove`)).status).toBe(403);
    expect((await red.act(`${PAGE}/${id}/remove`)).status).toBe(303);
  });

  it('are refused with what is wrong beside each field, and the form keeps what was typed', async () => {
    const red = await ofTeam('red');
    const refusal = async (more: Record<string, string>) => {
      const response = await red.act(PAGE, form(more));
      expect(response.status).toBe(400);
      return response.text();
    };
    const page = await refusal({ target: 'no group', settings: 'repository', pins: '=1' });
    expect(words(page)).toContain('Enter GROUP, or GROUP/KIND');
    expect(words(page).match(/Enter one NAME=VALUE on each line/g)).toHaveLength(2);
    expect(page).toContain('value="no group"');
    expect(words(await refusal({ settings: 'repository=a/b' }))).toContain('the setting workflow is missing');
    expect(words(await refusal({ settings: 'repository=a/b\nrepository=c/d' }))).toContain('NAME=VALUE');
    expect(words(await refusal({ provider: 'jenkins' }))).toContain('No publisher was added');
    expect(words(await refusal({ keys: '{}', issuer: '' }))).toContain('serves its own keys');
    expect(await refusal({ issuer: '"><script>x()</script>' })).not.toContain('<script>x()');
    expect(await stored()).toEqual([]);
  });

  it('are those of all groups for administrators', async () => {
    const admin = await signedIn(registry);
    for (const target of ['red.example.com', 'blue.example.com/SetLabels'])
      expect((await admin.act(PAGE, form({ target }))).status).toBe(303);
    const page = words(await admin.text(PAGE));
    expect(page).toContain('red.example.com');
    expect(page).toContain('blue.example.com/SetLabels');
    expect(words(await (await ofTeam('blue')).text(PAGE))).not.toContain('red.example.com');
  });

  it('that were not used in time have to be added again', async () => {
    const waiting = words(await (await signedIn(registry)).text(PAGE));
    expect(waiting).toMatch(/not used yet.* if it is not used/);
    registry.advance(31 * 86_400_000);
    const ended = words(await (await signedIn(registry)).text(PAGE));
    expect(ended).toMatch(/not used in time.*ended .*: add it again/);
    expect(ended).not.toMatch(/not used yet|if it is not used/);
  });
});
