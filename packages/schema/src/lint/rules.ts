import { documents } from './documents.js';
import { names } from './names.js';
import { placeholders } from './placeholders.js';
import type { Rule } from './rule.js';
import { runtimes } from './runtimes.js';
import { shape } from './shape.js';
import { structural } from './structural/structural.js';
import { text } from './text.js';

/** All rules for one definition. */
export const RULES: readonly Rule[] = [shape, names, runtimes, documents, placeholders, text, structural];
