import { brotliDecompressSync } from 'node:zlib';
import { Dict, intFromDouble, List, StarlarkFloat, type Value } from '@krmhub/starlark';
import { KUBERNETES_SCHEMAS } from './kubernetes-schemas.js';

/** Returns `ctx.open_api`: a dict with the `definitions` of the types of Kubernetes. */
export function openApi(): Value {
  const text = brotliDecompressSync(Buffer.from(KUBERNETES_SCHEMAS, 'base64')).toString('utf8');
  return jsonValue(JSON.parse(text));
}

function jsonValue(value: unknown): Value {
  if (Array.isArray(value)) return new List(value.map(jsonValue));
  if (typeof value === 'object' && value !== null) {
    const dict = new Dict();
    for (const [key, child] of Object.entries(value)) dict.set(key, jsonValue(child));
    return dict;
  }
  if (typeof value === 'number')
    return Number.isInteger(value) ? intFromDouble(value) : new StarlarkFloat(value);
  return value as Value;
}
