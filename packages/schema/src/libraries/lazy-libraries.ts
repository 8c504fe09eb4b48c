/**
 * Libraries that are loaded on first use.
 *
 * Most documents do not need them, and loading takes longer than linting a definition.
 *
 * @module
 */

import { createRequire } from 'node:module';
import type * as CelLanguage from '@bufbuild/cel';
import type * as CelExtensions from '@bufbuild/cel/ext';
import type * as Re2Library from 're2js';
import type compareVersions from 'semver/functions/compare.js';
import type correctLicense from 'spdx-correct';
import type * as PublicSuffixes from 'tldts';

const require = createRequire(import.meta.url);

export type CelLibrary = typeof CelLanguage & typeof CelExtensions;

let re2: typeof Re2Library | undefined;
let cel: CelLibrary | undefined;
let correct: typeof correctLicense | undefined;
let compare: typeof compareVersions | undefined;
let suffixes: typeof PublicSuffixes | undefined;

export function loadRe2(): typeof Re2Library {
  re2 ??= require('re2js') as typeof Re2Library;
  return re2;
}

export function loadCel(): CelLibrary {
  cel ??= {
    ...(require('@bufbuild/cel') as typeof CelLanguage),
    ...(require('@bufbuild/cel/ext') as typeof CelExtensions),
  };
  return cel;
}

/** The order of semantic versions. */
export function loadVersionOrder(): typeof compareVersions {
  compare ??= require('semver/functions/compare.js') as typeof compareVersions;
  return compare;
}

/** The Public Suffix List. */
export function loadPublicSuffixes(): typeof PublicSuffixes {
  suffixes ??= require('tldts') as typeof PublicSuffixes;
  return suffixes;
}

export function loadLicenseCorrection(): typeof correctLicense {
  correct ??= require('spdx-correct') as typeof correctLicense;
  return correct;
}
