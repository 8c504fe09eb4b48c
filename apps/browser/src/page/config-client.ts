import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import { defined } from '@krmhub/schema/defined';
import type { ConfigState } from '../config/edit-config.js';
import type { ConfigRequest, ConfigResponse } from '../config/worker.js';

/** A schema or a document that takes longer is not checked. */
const TIMEOUT_MILLISECONDS = 10_000;

export type Edit = NonNullable<ConfigRequest['edit']>;

/** Asks the worker for functionConfigs, one after the other. A worker that takes too long is replaced. */
export class ConfigClient {
  readonly #path: string;
  readonly #definition: CheckedDefinition;
  #worker: Worker | undefined;
  #id = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, definition: CheckedDefinition) {
    this.#path = path;
    this.#definition = definition;
  }

  /**
   * Returns the state of a text, or of the text with a change. The text is read when it is the turn of the request: `from`
   * is that text.
   */
  ask(text: () => string, edit?: Edit): Promise<{ from: string; state: ConfigState }> {
    const next = this.#last.then(async () => {
      const from = text();
      return { from, state: await this.#ask(from, edit) };
    });
    this.#last = next.catch(() => {});
    return next;
  }

  #ask(text: string, edit: Edit | undefined): Promise<ConfigState> {
    this.#worker ??= new Worker(this.#path);
    const worker = this.#worker;
    this.#id += 1;
    const id = this.#id;
    return new Promise((resolve) => {
      const end = (state: ConfigState) => {
        clearTimeout(timer);
        worker.onmessage = null;
        resolve(state);
      };
      const fail = (message: string) => {
        worker.terminate();
        this.#worker = undefined;
        end({ text, problems: [{ path: '', message }] });
      };
      const timer = setTimeout(() => fail('it takes too long to check'), TIMEOUT_MILLISECONDS);
      worker.onmessage = ({ data }: MessageEvent<ConfigResponse>) => {
        if (data.id === id) end(data);
      };
      worker.onerror = () => fail('it cannot be checked in this browser');
      worker.postMessage({
        id,
        text,
        definition: this.#definition,
        ...defined({ edit }),
      } satisfies ConfigRequest);
    });
  }
}
