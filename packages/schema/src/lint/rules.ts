import { container } from './container.js';
import { documents } from './documents.js';
import { names } from './names.js';
import { program } from './program.js';
import type { Rule } from './rule.js';
import { shape } from './shape.js';
import { structural } from './structural/structural.js';
import { text } from './text.js';

/** All rules for one definition. */
export const RULES: readonly Rule[] = [shape, names, container, program, documents, text, structural];
