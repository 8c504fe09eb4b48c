import { KrmhubError } from '@krmhub/schema/error';
import { type ResourceNode, readTrees, STYLE, writeDocument } from '@krmhub/schema/resource-yaml';
import {
  Builtin,
  EvaluationError,
  List,
  listElements,
  Module,
  type Thread,
  unpackArguments,
  type Value,
  wantString,
} from '@krmhub/starlark';
import { TreeWriter, writtenSize, YamlValues } from './yaml-values.js';

/** Memory of the values of a text, by byte. */
const BYTES_PER_BYTE = 32;

/** The module `yaml`: `decode` and `encode`, also as `loads` and `dumps`, and `decode_all` for several documents. */
export const YAML = new Module('yaml', [
  ...['decode', 'loads'].map((name) => [name, decoder(name, decodeOne)] as const),
  ...['encode', 'dumps'].map((name) => [name, encoder(name)] as const),
  ['decode_all', decoder('decode_all', decodeAll)],
  ['encode_all', allEncoder('encode_all')],
]);

function decoder(name: string, decode: (text: string) => Value): Builtin {
  return new Builtin(name, (thread, args, kwargs) => {
    const [source] = unpackArguments(name, args, kwargs, ['x']);
    const text = wantString(name, 'x', source!);
    thread.step(text.length);
    thread.allocate(text.length * BYTES_PER_BYTE);
    try {
      return decode(text);
    } catch (error) {
      if (error instanceof KrmhubError) throw new EvaluationError(`yaml.${name}: ${error.message}`);
      throw error;
    }
  });
}

function decodeOne(text: string): Value {
  const [tree, ...others] = readTrees(text, 'the text');
  if (others.length > 0) {
    throw new KrmhubError(
      'invalid-document',
      `cannot read the text: it has ${others.length + 1} documents, expected one`,
    );
  }
  return tree === undefined ? null : new YamlValues().valueOf(tree);
}

function decodeAll(text: string): Value {
  const values = new YamlValues();
  return new List(readTrees(text, 'the text').map((tree) => values.valueOf(tree)));
}

function encoder(name: string): Builtin {
  return new Builtin(name, (thread, args, kwargs) => {
    const [value] = unpackArguments(name, args, kwargs, ['x']);
    return encode(thread, value!);
  });
}

function allEncoder(name: string): Builtin {
  return new Builtin(name, (thread, args, kwargs) => {
    const [values] = unpackArguments(name, args, kwargs, ['x']);
    return listElements(values!, thread)
      .map((value) => encode(thread, value))
      .join('---\n');
  });
}

function encode(thread: Thread, value: Value): string {
  const tree = new TreeWriter().tree(value, 'the value');
  const size = writtenSize(tree, thread.limits.maxMemoryBytes);
  thread.step(size);
  thread.allocate(size);
  quoteText(tree);
  return writeDocument(tree);
}

/** Text that is a string to every reader without quotes too: no number, date, boolean or null begins or reads like this. */
const CERTAINLY_TEXT = /^(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_/][\w./-]*$/i;

function quoteText(node: ResourceNode): void {
  if (node.tag === '!!str' && node.style === 0 && !CERTAINLY_TEXT.test(node.value))
    node.style = STYLE.doubleQuoted;
  for (const child of node.content) quoteText(child);
}
