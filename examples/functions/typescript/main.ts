// SetOwner is a KRM function: it reads a ResourceList from stdin, and writes it to stdout.
import { text } from 'node:stream/consumers';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';

/** Changes the items in place. Users read the message of what it throws. */
function transform(config: YAMLMap, items: YAMLMap[]): void {
  const owner = config.get('owner');
  if (typeof owner !== 'string' || owner === '') throw new Error('the functionConfig has no owner');
  for (const item of items) {
    item.setIn(['metadata', 'annotations', 'example.com/owner'], owner);
  }
}

try {
  const list = parseDocument(await text(process.stdin), { intAsBigInt: true });
  const [error] = list.errors;
  if (error !== undefined) throw error;
  const [items, config] = [list.get('items'), list.get('functionConfig')];
  if (list.get('kind') !== 'ResourceList' || !isSeq(items)) {
    throw new Error('the input is not a ResourceList with items');
  }
  if (!isMap(config)) throw new Error('the ResourceList has no functionConfig');
  transform(
    config,
    items.items.filter((item) => isMap(item)),
  );
  process.stdout.write(list.toString({ lineWidth: 0 }));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
