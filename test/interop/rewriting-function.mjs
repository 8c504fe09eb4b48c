#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

// A function that loses comments and the order of fields, turns lists of objects around, and changes values.

const change = (value) => {
  if (Array.isArray(value)) {
    const items = value.map(change);
    return items.every((item) => typeof item === 'object') ? items.reverse() : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.keys(value)
    .sort()
    .map((key) => [key, change(value[key])]);
  if (typeof value.image === 'string') entries.unshift(['added', 'by the function']);
  return Object.fromEntries(entries);
};

const list = parse(readFileSync(0, 'utf8'));
list.items = list.items.map((item) => ({ ...change(item), metadata: item.metadata }));
process.stdout.write(stringify(list, { lineWidth: 0 }));
