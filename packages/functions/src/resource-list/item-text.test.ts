import { documentRoot, readResourceList, setAnnotation, writeDocument } from '@krmhub/schema/resource-yaml';
import { describe, expect, it } from 'vitest';
import { decodeResourceList } from './decode.js';
import { encodeResourceList } from './encode.js';
import { findAnnotations, itemAnnotations, itemText, writtenItem } from './item-text.js';
import { readResources } from './read-resources.js';
import { itemList, splitItems } from './split-items.js';

const DOCUMENTS: Record<string, string> = {
  'block style': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\nspec:\n  list:\n  - a\n',
  annotations: 'apiVersion: v1\nkind: A\nmetadata:\n  annotations:\n    x: "1"\n  name: a\n',
  'a block scalar as the last annotation':
    'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    x: |\n      one\n\n      two\nspec: {}\n',
  'metadata as the last field': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  labels:\n    b: c\n',
  'metadata first': 'metadata:\n  name: a\nkind: A\napiVersion: v1\n',
  'flow style': 'apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {x: "1"}}\n',
  'empty annotations': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations: {}\n',
  'a quoted key': 'apiVersion: v1\nkind: A\nmetadata:\n  "annotations":\n    x: "1"\n  name: a\n',
  'a comment at the end of metadata':
    'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n# the rest\nspec:\n  a: b\n',
  'a comment in the annotations':
    'apiVersion: v1\nkind: A\nmetadata:\n  annotations:\n    # why\n    x: "1" # so\n    # last\n  name: a\n',
  'a header': '# header\n# more\n\n# and more\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n',
  'metadata in a text':
    'apiVersion: v1\nkind: A\ndata:\n  x: |\n    metadata:\n      name: b\nmetadata:\n  name: a\n',
  'no metadata': 'apiVersion: v1\nkind: A\n',
  'wide lists': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  finalizers:\n    - a\n    - b\n',
  'comments between fields':
    '# of the kind\napiVersion: v1\nkind: A # a\nmetadata:\n  name: a # b\n  labels:\n    x: y # c\n# d\nspec: # e\n  # f\n  a:\n  # g\n  - b: c # h\n    # i\n    d: e\n  # j\n\n  k: l\n',
  'a comment below metadata': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n# below\n\nspec:\n  a: b\n',
  'a comment below a field of metadata':
    'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  # below\n\nspec:\n  a: b\n',
  'a comment at the end': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\nspec:\n  a: b\n  # end\n',
  'a comment above all fields': '# above\n\n# more\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n',
  'comments in text': 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\ndata:\n  x: |\n    # b\n\n    # c\n',
  JSON: '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}\n',
};

describe('an item of a ResourceList', () => {
  it.each(Object.entries(DOCUMENTS))('is what the model writes, for %s', (_, text) => {
    const [resource] = readResources(text, { path: 'a.yaml' });
    // kyaml leaves out the comments of the document, which is not the item.
    const node = documentRoot(resource!.node()).clone();
    for (const [key, value] of itemAnnotations(resource!)) setAnnotation(node, key, value);
    const list = encodeResourceList([resource!]);
    const [item] = readResourceList(list, 'list').items;
    expect(writeDocument(item!)).toBe(writeDocument(node));
  });

  it.each(Object.entries(DOCUMENTS))('is made of the text as of the model, for %s', (_, text) => {
    const [resource] = readResources(text, { path: 'a.yaml' });
    expect(itemText(resource!, undefined)).toBe(writtenItem(resource!, []));
  });

  it.each(Object.entries(DOCUMENTS))('gives back the document, for %s', (_, text) => {
    const [resource] = readResources(text, { path: 'inner/a.yaml' });
    const [decoded] = decodeResourceList(encodeResourceList([resource!])).resources;
    expect(decoded).toMatchObject({ path: 'inner/a.yaml', index: 0, seqIndent: resource!.seqIndent });
    expect(decoded!.identity).toEqual(resource!.identity);
    expect(decoded!.text()).toBe(writeDocument(documentRoot(resource!.node()), resource!));
  });

  it('finds annotations in the text of the usual documents, without the model', () => {
    expect(findAnnotations(DOCUMENTS['block style']!)).toMatchObject({ isNew: true });
    expect(findAnnotations(DOCUMENTS.annotations!)).toMatchObject({ isNew: false });
    expect(findAnnotations(DOCUMENTS['flow style']!)).toBeUndefined();
    expect(findAnnotations(DOCUMENTS['a quoted key']!)).toBeUndefined();
  });
});

describe('splitItems', () => {
  it('gives the documents that a parser finds', () => {
    const resources = Object.values(DOCUMENTS).flatMap((text) => readResources(text, { path: 'a.yaml' }));
    const list = encodeResourceList(resources, { functionConfig: 'data:\n  a: b\n' });
    const documents = splitItems(list)?.items.map((item) =>
      writeDocument(readResourceList(itemList(item, false), 'x').items[0]!),
    );
    expect(documents).toEqual(readResourceList(list, 'x').items.map((item) => writeDocument(item)));
  });

  it.each([
    ['flow style', 'kind: ResourceList\nitems: [{kind: A}]\n'],
    ['a comment below an empty line', 'kind: ResourceList\nitems:\n- kind: A\n\n# b\n- kind: B\n'],
    ['a comment above an empty line', 'kind: ResourceList\nitems:\n- kind: A\n# b\n\n- kind: B\n'],
    ['a comment behind the items', 'kind: ResourceList\nitems:\n- kind: A\n# b\n'],
    ['a comment left of the items', 'kind: ResourceList\nitems:\n  - kind: A\n # b\n  - kind: B\n'],
    ['line breaks of Windows', 'kind: ResourceList\r\nitems:\r\n- kind: A\r\n'],
    ['several documents', 'items:\n- kind: A\n---\nkind: B\n'],
    ['no items', 'kind: ResourceList\nitems: []\n'],
  ])('leaves %s to the parser', (_, text) => {
    expect(splitItems(text)).toBeUndefined();
  });

  it('finds comments above items', () => {
    const items = ['# a\n# b\n- kind: A\n', '- kind: B\n', '# c\n- kind: C\n  # d\n  e: f\n'];
    expect(splitItems(`items:\n${items.join('')}`)?.items).toEqual(items);
  });

  it('reads items that are indented', () => {
    const text =
      'kind: ResourceList\nitems:\n  - kind: A\n    a:\n      - b\n  - kind: B\nresults:\n  - message: m\n';
    expect(splitItems(text)).toEqual({
      items: ['- kind: A\n  a:\n    - b\n', '- kind: B\n'],
      rest: 'kind: ResourceList\nitems: []\nresults:\n  - message: m\n',
      isLast: false,
    });
  });
});
