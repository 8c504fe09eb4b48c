import { fillPath } from '@krmhub/api/paths';
import { RECIPE_LIMITS } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { readyRecipes } from '@krmhub/sources/ready-recipes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signedIn, type TestBrowser } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
let browser: TestBrowser;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  browser = await signedIn(registry);
});
afterAll(() => registry.close());

const recipe = (name: string, more = '') => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: ${name}
spec:
  sources:
  - name: registry
    functions: {}
${more}`;

const digestState = (text: string) => sha256(new TextEncoder().encode(text));
const stored = async (name: string) => (await registry.parts.store.catalog(name))?.recipe;
const send = (name: string, text: string, what: 'check' | 'apply', expected = 'none') =>
  browser.act(`/operate/recipes/${name}`, { text, expected, do: what });

/** Returns the content of the text area in a browser: without the line end that HTML drops. */
function edited(page: string): string | undefined {
  const inner = /<textarea[^>]*>([\s\S]*?)<\/textarea>/.exec(page)?.[1]?.replace(/^\n/, '');
  return inner
    ?.replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
const expectedState = (page: string) => /name="expected" value="([^"]+)"/.exec(page)?.[1];

describe('a recipe', () => {
  it('is created, checked and applied', async () => {
    const begun = await browser.get('/operate/recipes?name=first');
    expect([begun.status, begun.headers.get('location')]).toEqual([303, '/operate/recipes/first']);
    const empty = await browser.text('/operate/recipes/first');
    expect(empty).toContain('This catalog does not exist yet');
    const text = edited(empty) ?? '';
    expect(expectedState(empty)).toBe('none');
    const checked = await send('first', text, 'check');
    expect(checked.status).toBe(200);
    expect(await checked.text()).toContain('If you apply it, the registry creates the catalog.');
    expect(await stored('first')).toBeUndefined();
    const applied = await send('first', text, 'apply');
    expect([applied.status, applied.headers.get('location')]).toEqual([
      303,
      '/operate/recipes/first?applied=true',
    ]);
    expect(await stored('first')).toBe(text);
    expect((await registry.parts.store.catalog('first'))?.appliedBy).toBe('tester');
    await registry.waitForCatalogs();
    expect((await registry.parts.store.catalog('first'))?.newest?.functions).toBe(1);
    const page = await browser.text('/operate/recipes/first?applied=true');
    expect(page).toContain('Recipe applied');
    expect(expectedState(page)).toBe(digestState(text));
    expect(await (await send('first', text, 'check')).text()).toContain(
      'It is identical to the current recipe.',
    );
    expect(await browser.text('/operate/recipes')).toContain('/operate/recipes/first');
  });

  it('is stored as typed, byte for byte', async () => {
    for (const text of [
      `\n\n${recipe('bytes')}`,
      recipe('bytes', '# end without a line end'),
      recipe('bytes', '# </textarea><script>alert(1)</script> &amp; &lt; "\' %0D%0A + ü 𝄞\n\n\n'),
      recipe('bytes', '#\ttab  \n'),
    ]) {
      const before = await browser.text('/operate/recipes/bytes');
      const response = await send('bytes', text, 'apply', expectedState(before));
      expect(response.status, await response.text()).toBe(303);
      expect(await stored('bytes')).toBe(text);
      const page = await browser.text('/operate/recipes/bytes');
      expect(edited(page)).toBe(text);
      expect(page).not.toContain('<script>alert');
    }
  });

  it('with errors is shown again with every problem and its position', async () => {
    const text =
      'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: wrong}\nspec:\n  sourcs: []\n  sources:\n  - {name: Wrong Name, functions: {}}\n';
    for (const what of ['check', 'apply'] as const) {
      const response = await send('wrong', text, what);
      expect(response.status).toBe(400);
      const page = await response.text();
      expect(page).toContain('2 problems');
      expect(page).toContain('line 5, column 3');
      expect(page).toContain('line 7, column 12');
      expect(page).toContain('recipe/unknown-field');
      expect(edited(page)).toBe(text);
    }
    expect(await stored('wrong')).toBeUndefined();
    // The same problems as in the API.
    const response = await registry.send('PUT', fillPath('catalog', { name: 'wrong' }), text);
    const { diagnostics } = response.body as { diagnostics: { code: string; message: string }[] };
    const page = await (await send('wrong', text, 'check')).text();
    for (const { code } of diagnostics) expect(page).toContain(code);
    expect(diagnostics).toHaveLength(2);
  });

  it.each([
    ['of another catalog', recipe('elsewhere'), 'not hostile'],
    ['of nothing', '', 'problem'],
    ['of no YAML', '{', 'problem'],
    ['of markup', '<script>alert(1)</script>\u202e: [</textarea><script>alert(2)</script>', 'problem'],
    ['of NUL', 'a: "\u0000"', 'problem'],
    ['of deep nesting', '['.repeat(5_000), 'problem'],
  ])('%s is refused and shown again', async (_, text, says) => {
    const response = await send('hostile', text, 'apply');
    expect(response.status).toBe(400);
    const page = await response.text();
    expect(page).toContain(says);
    expect(page).not.toContain('<script>alert');
    expect(page.replace(/<textarea[\s\S]*<\/textarea>/, '')).not.toContain('\u202e');
    expect(edited(page)?.replaceAll('\u0000', '')).toBe(text.replaceAll('\u0000', ''));
    expect(await stored('hostile')).toBeUndefined();
  });

  it('has the same size limit as at the API', async () => {
    const body = recipe('large');
    const fits = body + '\n'.repeat(RECIPE_LIMITS.maxBytes - body.length);
    expect((await send('large', fits, 'check')).status).toBe(200);
    const beyond = await send('large', `${fits}\n`, 'check');
    expect(beyond.status).toBe(400);
    expect(await beyond.text()).toContain('recipe/limit');
    expect((await send('large', fits.replaceAll('\n', '\n\n\n'), 'check')).status).toBe(413);
  });

  it('is not lost after a concurrent update, and neither is the other one', async () => {
    const first = recipe('shared');
    await send('shared', first, 'apply');
    const opened = await browser.text('/operate/recipes/shared');
    const theirs = recipe('shared', '# theirs <b>\n');
    await send('shared', theirs, 'apply', expectedState(opened));
    const mine = recipe('shared', '# mine\n');
    const response = await send('shared', mine, 'apply', expectedState(opened));
    expect(response.status).toBe(409);
    const page = await response.text();
    expect(page).toContain('# theirs &lt;b&gt;');
    expect(edited(page)).toBe(mine);
    expect(await stored('shared')).toBe(theirs);
    // A user who has seen both decides.
    expect(expectedState(page)).toBe(digestState(theirs));
    expect((await send('shared', mine, 'apply', expectedState(page))).status).toBe(303);
    expect(await stored('shared')).toBe(mine);
    expect((await send('shared', first, 'apply', 'none')).status).toBe(409);
    expect((await send('shared', first, 'apply', 'sha256:x')).status).toBe(400);
  });

  it('is shown again if the form is of an earlier session, and nothing changes', async () => {
    const again = await signedIn(registry);
    const text = recipe('earlier');
    const old = await again.formKey();
    await again.act('/sign-out');
    const out = await again.post('/operate/recipes/earlier', {
      formKey: old,
      text,
      expected: 'none',
      do: 'apply',
    });
    expect(out.status).toBe(403);
    expect(await out.text()).toContain('reload this page');
    await again.signIn(again.secret);
    const response = await again.post('/operate/recipes/earlier', {
      formKey: old,
      text,
      expected: 'none',
      do: 'apply',
    });
    expect(response.status).toBe(403);
    const page = await response.text();
    expect(page).toContain('Not applied yet');
    expect(edited(page)).toBe(text);
    expect(page).toContain(await again.formKey());
    expect(await stored('earlier')).toBeUndefined();
  });

  it('of the built-in catalog is read-only', async () => {
    const page = await browser.text('/operate/recipes/default');
    expect(page).toContain('You cannot change this catalog: it is built in');
    expect(page).not.toContain('<textarea');
    const before = await stored('default');
    expect((await send('default', recipe('default'), 'apply', digestState(before ?? ''))).status).toBe(409);
    expect(await stored('default')).toBe(before);
  });

  it.each(['..%2F..', 'A', '%00', 'a b', '-a', '__proto__'])('cannot have the name %s', async (name) => {
    expect((await browser.get(`/operate/recipes/${name}`)).status).toBe(400);
  });
});

it('lists deleted catalogs with the command that restores them', async () => {
  await send('former', recipe('former'), 'apply');
  const { store } = registry.parts;
  const [at, restorableUntil] = ['2030-01-02T03:04:05.000Z', '2030-02-02T03:04:05.000Z'];
  const event = { type: 'catalog.deleted' as const, at, by: 'root', catalog: 'former' };
  const deletion = { at, by: 'root', reason: 'merged <here>', restorableUntil };
  await store.deleteCatalog({ name: 'former', deletion, event });
  const page = await browser.text('/operate/recipes');
  expect(page).toContain('<h2>Deleted catalogs</h2>');
  expect(page).toContain('merged &lt;here&gt;');
  expect(page).toContain('<code>krmhub catalog restore former</code>');
  await registry.waitForCatalogs();
  expect(await store.startPurge('former', restorableUntil)).toBe(true);
  const purged = await browser.text('/operate/recipes');
  expect(purged).toContain('its data is deleted');
  expect(purged).not.toContain('krmhub catalog restore former');
});

describe('recipes of krmhub', () => {
  it('are applied by one button, and then are not offered again', async () => {
    const page = await browser.text('/operate/recipes');
    const [form] = /<form method="post" action="\/operate\/recipes\/kpt-functions"[\s\S]*?<\/form>/.exec(
      page,
    )!;
    expect(form).toContain('name="do" value="apply"');
    const { name, text } = readyRecipes().find((one) => one.name === 'kpt-functions')!;
    expect(form).toContain('git::https://github.com/kptdev/krm-functions-catalog.git');
    expect(edited(await browser.text(`/operate/recipes/${name}`))).toBe(text);
    const applied = await send(name, text, 'apply');
    expect(applied.headers.get('location')).toBe('/operate/recipes/kpt-functions?applied=true');
    expect(await stored(name)).toBe(text);
    const after = await browser.text('/operate/recipes');
    expect(after).not.toContain('aria-label="Import kpt-functions"');
    expect(after).toContain('aria-label="Import krm-functions"');
  });
});
