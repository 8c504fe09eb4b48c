import { type ResourceNode, readDocument, writeDocument } from '@krmhub/schema/resource-yaml';
import { expect, it } from 'vitest';
import { itemText } from './item-text.js';
import { keepComments, restoreComments } from './kept-comments.js';
import { readBody } from './read-resources.js';
import { Resource } from './resource.js';

const TEXT = `# header

# more
apiVersion: apps/v1 # version
kind: Deployment
metadata:
  # above
  name: web
  # below
spec:
  list: # beside
    # first
    - a # one
    # second
    - b:
        c: d # deep
  folded: >-
    x
    y
  flow: {a: b} # flow
# end
`;

const listComments = (node: ResourceNode): unknown[] => [
  node.kind,
  node.value,
  [node.head, node.line, node.foot],
  ...node.content.map(listComments),
];

it.each(['document', 'root'])('gives a model its comments back: %s', (which) => {
  const document = readDocument(TEXT, 'a.yaml')!;
  const model = which === 'document' ? document : document.content[0]!;
  const kept = keepComments(model);
  const again = readDocument(writeDocument(model).replace(/#/g, '# changed'), 'a.yaml')!;
  expect(listComments(restoreComments(again, kept))).toEqual(listComments(model));
});

it('leaves a model as it is that does not match', () => {
  const kept = keepComments(readDocument('a: 1 # b\n', 'a.yaml')!);
  const other = readDocument('a: 1 # c\nd: 2\n', 'a.yaml')!;
  const before = listComments(other);
  expect(listComments(restoreComments(other, kept))).toEqual(before);
});

it('keeps texts and comments of a resource without its model', () => {
  const model = readDocument(TEXT, 'a.yaml')!;
  // The text does not tell that it is a comment of the value.
  model.content[0]!.content.at(-1)!.foot = '# below the value';
  const one = new Resource(readBody(model, 'wide'), { path: 'a.yaml', index: 0, packagePath: '' });
  const state = () => [one.text(), itemText(one, 1, false), listComments(one.node())];
  const before = state();
  one.body.dropModel();
  expect(one.node()).not.toBe(one.node());
  expect(state()).toEqual(before);
});
