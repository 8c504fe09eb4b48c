import { describe, expect, it } from 'vitest';
import type { ResourceIdentity } from '../resource-list/identity.js';
import { resourceFilter, type Selector } from './selectors.js';

const resource = (more: Partial<ResourceIdentity> = {}): ResourceIdentity => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  name: 'web',
  namespace: 'shop',
  labels: {},
  annotations: {},
  ...more,
});

const web = resource({ labels: { tier: 'front', app: 'web' }, annotations: { foo: 'bar' } });
const set = resource({ kind: 'StatefulSet', name: 'db' });
const service = resource({ apiVersion: 'v1', kind: 'Service', namespace: '' });
const job = resource({ apiVersion: 'batch/v1', kind: 'Deployment', name: 'job' });
const local = resource({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  annotations: { 'config.kubernetes.io/local-config': 'true', foo: 'bar' },
});
const all = { web, set, service, job, local };

/** Names of the resources that a function gets. */
function selected(selectors: readonly Selector[], exclude: readonly Selector[] = []): string[] {
  const filter = resourceFilter(selectors, exclude);
  return Object.entries(all).flatMap(([name, one]) => (filter === undefined || filter(one) ? [name] : []));
}

describe('selectors', () => {
  it.each<[string, Selector[], string[]]>([
    ['apiVersion', [{ apiVersion: 'apps/v1' }], ['web', 'set']],
    ['group', [{ group: 'apps' }], ['web', 'set']],
    ['kind', [{ kind: 'Deployment' }], ['web', 'job']],
    ['name', [{ name: 'db' }], ['set']],
    ['namespace', [{ namespace: 'shop' }], ['web', 'set', 'job', 'local']],
    ['labels', [{ labels: { tier: 'front' } }], ['web']],
    ['all labels', [{ labels: { tier: 'front', app: 'other' } }], []],
    ['annotations', [{ annotations: { foo: 'bar' } }], ['web', 'local']],
    ['exact text only', [{ kind: 'deployment' }, { name: 'we' }, { labels: { tier: 'fr' } }], []],
    ['all fields of an entry', [{ kind: 'Deployment', apiVersion: 'batch/v1' }], ['job']],
    ['any of the entries', [{ kind: 'Service' }, { name: 'db' }], ['set', 'service']],
    [
      'a resource once that two entries match',
      [{ kind: 'Deployment' }, { name: 'web' }],
      ['web', 'service', 'job', 'local'],
    ],
    ['everything for an empty entry', [{}], Object.keys(all)],
    ['no names of object prototypes', [{ labels: { constructor: 'x' } }], []],
  ])('match by %s', (_, selectors, expected) => {
    expect(selected(selectors)).toEqual(expected);
  });

  it('are absent if everything is selected', () => {
    expect(resourceFilter([], [])).toBeUndefined();
  });
});

/** Every example of the design of `exclude`. */
describe('exclude', () => {
  it.each<[string, Selector[], Selector[], string[]]>([
    ['a kind', [], [{ kind: 'Deployment' }], ['set', 'service', 'local']],
    [
      'what has both group and kind',
      [],
      [{ kind: 'Deployment', group: 'apps' }],
      ['set', 'service', 'job', 'local'],
    ],
    ['what has either group or kind', [], [{ kind: 'Deployment' }, { group: 'apps' }], ['service', 'local']],
    ['a kind of a selected group', [{ group: 'apps' }], [{ kind: 'Deployment' }], ['set']],
    [
      'an annotation of what another annotation selects',
      [{ annotations: { foo: 'bar' } }],
      [{ annotations: { 'config.kubernetes.io/local-config': 'true' } }],
      ['web'],
    ],
    ['nothing with an empty entry', [], [{}], Object.keys(all)],
  ])('leaves out %s', (_, selectors, exclude, expected) => {
    expect(selected(selectors, exclude)).toEqual(expected);
  });

  it('keeps the meta resources away from a function, as its alternative with selectors does', () => {
    const versions = ['batch/v1', 'apps/v1', 'v1', 'example.com/v1'].map((apiVersion) => ({ apiVersion }));
    const kptfile = resource({ apiVersion: 'kpt.dev/v1', kind: 'Kptfile' });
    expect(resourceFilter(versions, [])!(kptfile)).toBe(false);
    expect(resourceFilter([], [{ kind: 'Kptfile' }])!(kptfile)).toBe(false);
    expect(selected(versions)).toEqual(selected([], [{ kind: 'Kptfile' }]));
  });
});
