import { type EncodeOptions, encodeItems } from '../resource-list/encode.js';
import { itemText } from '../resource-list/item-text.js';
import { MAX_TEXT_WITH_MODELS } from '../resource-list/model-limits.js';
import type { Resource } from '../resource-list/resource.js';
import type { StepInput } from './step-input.js';

export interface EncodedInput extends Pick<StepInput, 'items' | 'isLarge'> {
  input: Buffer;
}

/** Returns the input of a function. */
export function encodeInput(resources: readonly Resource[], options: EncodeOptions): EncodedInput {
  let size = 0;
  for (const { body } of resources) size += body.compactText().length;
  const isLarge = size > MAX_TEXT_WITH_MODELS;
  const texts = resources.map((resource, at) => itemText(resource, at + 1, !isLarge));
  const text = encodeItems(texts, options);
  const [first = ''] = texts;
  // Parts of the text take no memory of their own.
  let at = text.indexOf(first);
  const items = texts.map((item) => {
    const start = at;
    at += item.length;
    return text.slice(start, at);
  });
  return { input: Buffer.from(text), items, isLarge };
}
