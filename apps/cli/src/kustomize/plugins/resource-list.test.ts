import { readMachineYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { readRequest, readResponse, resourceList } from './resource-list.js';

const CONFIG = `apiVersion: example.com/v1
kind: SetOwner
metadata:
  name: owner
owner: team
`;
/** As kustomize writes it: sorted keys, and an annotation with the identity of the resource. */
const STDIN = `apiVersion: v1
data:
  big: "12345678901234567890"
  text: |
    ---
    not a separator
kind: ConfigMap
metadata:
  annotations:
    kustomize.config.k8s.io/id: |
      kind: ConfigMap
      name: a
      version: v1
  name: a
---
apiVersion: v1
kind: Service
metadata:
  annotations:
    kustomize.config.k8s.io/id: |
      kind: Service
      name: b
      version: v1
  name: b
spec:
  ports:
  - port: 80
`;

type Item = { kind: string; metadata: { name: string; annotations: Record<string, string> } };
type List = { apiVersion: string; kind: string; items: Item[]; functionConfig: Item & { owner: string } };

const parse = (text: string): unknown => readMachineYaml(Buffer.from(text), { file: 'output' }).documents[0];
const request = (stdin = STDIN) => readRequest(Buffer.from(CONFIG), Buffer.from(stdin));
const list = (text = STDIN) => parse(Buffer.from(resourceList(request(text))).toString()) as List;
/** What the function prints. */
const printed = (items: unknown[]) =>
  Buffer.from(JSON.stringify({ apiVersion: 'config.kubernetes.io/v1', kind: 'ResourceList', items }));

describe('a ResourceList for a function', () => {
  it('has the resources with their position, and the configuration', () => {
    const { apiVersion, kind, items, functionConfig } = list();
    expect([apiVersion, kind]).toEqual(['config.kubernetes.io/v1', 'ResourceList']);
    expect(
      items.map((item) => [item.kind, item.metadata.annotations['internal.config.kubernetes.io/index']]),
    ).toEqual([
      ['ConfigMap', '0'],
      ['Service', '1'],
    ]);
    expect(items[0]).toMatchObject({ data: { text: '---\nnot a separator\n', big: '12345678901234567890' } });
    expect(functionConfig).toMatchObject({
      owner: 'team',
      metadata: { annotations: { 'config.kubernetes.io/local-config': 'true' } },
    });
  });

  it('has only the configuration for a generator', () => {
    const { items, functionConfig } = list('');
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ kind: 'SetOwner', owner: 'team' });
    expect(items[0]!.metadata.annotations['config.kubernetes.io/local-config']).toBe('true');
    expect(functionConfig.metadata.annotations).not.toHaveProperty(['internal.config.kubernetes.io/index']);
  });

  it('leaves it to readers what a scalar means', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\ndata:\n  a: 0777\n  b: 1e3\n  c: 12345678901234567890\n  d: 1.0\n';
    const written = Buffer.from(resourceList(request(text))).toString();
    for (const line of ['a: 0777', 'b: 1e3', 'c: 12345678901234567890', 'd: 1.0'])
      expect(written).toContain(`    ${line}\n`);
  });

  it.each([
    ['a list', '- a\n', STDIN],
    ['nothing', '', STDIN],
    ['a resource that is text', CONFIG, 'text\n'],
    ['broken YAML', CONFIG, 'a: [\n'],
  ])('is refused for %s', (_, config, stdin) => {
    expect(() => readRequest(Buffer.from(config), Buffer.from(stdin))).toThrow(
      /the (configuration|input) of the plugin/,
    );
  });
});

describe('what is printed for kustomize', () => {
  const respond = (items: unknown[], stdin = STDIN) =>
    readResponse(printed(items), request(stdin), 'a function');
  /** As the runner does: the request is written before the response is read. */
  const roundTrip = (change: (items: Item[]) => unknown[], stdin = STDIN) => {
    const own = request(stdin);
    const { items } = parse(Buffer.from(resourceList(own)).toString()) as List;
    return readResponse(printed(change(items)), own, 'a function');
  };

  it('has the bytes of the input if the function changes nothing', () => {
    expect(roundTrip((items) => items)).toBe(STDIN);
    expect(
      roundTrip((items) => items.map((item) => Object.fromEntries(Object.entries(item).reverse()))),
    ).toBe(STDIN);
  });

  it('has the bytes of the input for each resource that is unchanged', () => {
    const text = roundTrip(([first, second]) => [
      first,
      { ...second, metadata: { ...second!.metadata, labels: { a: 'b' } } },
    ]);
    const [unchanged, changed] = text.split('---\napiVersion');
    expect(STDIN.startsWith(unchanged!)).toBe(true);
    const service = parse(`apiVersion${changed}`) as Item & { spec: unknown };
    expect(service).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { ports: [{ port: 80 }] } });
    // The annotation with which kustomize finds the resource, and none of ours.
    expect(Object.keys(service.metadata.annotations)).toEqual(['kustomize.config.k8s.io/id']);
  });

  it('has what the function adds and removes, in its order', () => {
    const added = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'c' } };
    const text = roundTrip(([, second]) => [added, second]);
    expect(text.split('---\n').map((one) => (parse(one) as Item).kind)).toEqual(['Secret', 'Service']);
    expect(roundTrip(() => [])).toBe('');
  });

  it('does not print a copy of a resource with its bytes', () => {
    const text = roundTrip(([first]) => [first, first]);
    expect(text.split('---\napiVersion')).toHaveLength(2);
    expect(text).not.toContain('internal.config.kubernetes.io');
  });

  it('has the bytes of the input for numbers that the function writes in another way', () => {
    const stdin = STDIN.replace('port: 80', 'port: 1.5');
    const text = Buffer.from(resourceList(request(stdin))).toString();
    const printed = text.replace('port: 1.5', 'port: 1.50e0');
    expect(printed).not.toBe(text);
    const own = request(stdin);
    resourceList(own);
    expect(readResponse(Buffer.from(printed), own, 'a function')).toBe(stdin);
  });

  it('has what an alias refers to, also in another item', () => {
    const output = `items:\n- &a\n  kind: A\n  metadata: &m {name: a}\n- kind: B\n  metadata: *m\n- *a\n`;
    expect(readResponse(Buffer.from(output), request(), 'a function')).toBe(
      ['kind: A\nmetadata:\n  name: a\n', 'kind: B\nmetadata:\n  name: a\n']
        .concat('kind: A\nmetadata:\n  name: a\n')
        .join('---\n'),
    );
  });

  it('removes annotations only where nothing else is left in them', () => {
    const [generated] = [roundTrip((items) => items, '')];
    expect(parse(generated!)).toEqual({
      ...(parse(CONFIG) as object),
      metadata: { name: 'owner', annotations: { 'config.kubernetes.io/local-config': 'true' } },
    });
    expect(respond([{ kind: 'A', metadata: { annotations: { 'config.kubernetes.io/index': '7' } } }])).toBe(
      'kind: A\nmetadata: {}\n',
    );
  });

  it.each([
    ['items that are not a list', { kind: 'ResourceList', items: {} }, 'items is not a list'],
    ['an item that is text', { kind: 'ResourceList', items: ['a'] }, 'items[0] is not an object'],
    ['no items', { kind: 'ResourceList' }, 'items is not a list'],
  ])('is refused for %s', (_, output, message) => {
    expect(() => readResponse(Buffer.from(JSON.stringify(output)), request(), 'a function')).toThrow(
      `cannot read the output of a function: ${message}`,
    );
  });
});
