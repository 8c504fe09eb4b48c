/**
 * The worker that reads, checks, and edits functionConfigs: a large document or a schema that takes many steps must not
 * stop the page. It runs no code of publishers.
 *
 * @module
 */

import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import type { JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { type ConfigState, editConfig, readConfig } from './edit-config.js';

/** What a page asks for: the state of a text, or of the text with a change. */
export interface ConfigRequest {
  id: number;
  text: string;
  definition: CheckedDefinition;
  edit?: { path: Path; value?: JsonValue };
}

export type ConfigResponse = ConfigState & { id: number };

addEventListener('message', ({ data }: MessageEvent<ConfigRequest>) => {
  const { id, text, definition, edit } = data;
  let state: ConfigState;
  try {
    state = readConfig(edit === undefined ? text : editConfig(text, edit.path, edit.value), definition);
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    state = { text, problems: [{ path: '', message: error.message }] };
  }
  postMessage({ id, ...state } satisfies ConfigResponse);
});
