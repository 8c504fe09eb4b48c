import { defined } from '@krmhub/schema/defined';
import type { TryItData } from '@krmhub/schema/documents/try-it';
import type { ConfigState } from '../config/edit-config.js';
import { button, element } from '../form/dom.js';
import { outputElements } from './output.js';
import { type RunEnd, RunFrame } from './run-client.js';
import { labeledText } from './text-area.js';

/** UTF-16 code units of resources: a run has to end in seconds, on a phone too. */
const MAX_RESOURCES = 262_144;
const FILE = 'resources.yaml';

interface Runnable {
  data: TryItData;
  script: Uint8Array;
  code: string;
  schemas?: string;
}

/** The resources, the button that runs the function on them, and what comes out. */
export class Runner {
  readonly elements: HTMLElement[];
  readonly #run: Runnable;
  readonly #frame: RunFrame;
  readonly #readConfig: () => Promise<ConfigState>;
  readonly #resources: HTMLTextAreaElement;
  readonly #start: HTMLButtonElement;
  readonly #status = element('span', { class: 'quiet', attributes: { role: 'status' } });
  readonly #output = element('div', { class: 'try-output' });
  #stop: AbortController | undefined;

  constructor(run: Runnable, readConfig: () => Promise<ConfigState>) {
    this.#run = run;
    this.#frame = new RunFrame({ path: run.data.files.frame, code: run.code });
    this.#readConfig = readConfig;
    const resources = labeledText('Resources', { rows: 16, maxLength: MAX_RESOURCES });
    this.#resources = resources.area;
    this.#start = button('Run', () => void this.#toggle());
    this.#start.className = 'try-run';
    this.elements = [
      resources.element,
      element('p', { class: 'try-actions' }, this.#start, ' ', this.#status),
      this.#output,
      this.#frame.element,
    ];
  }

  set resources(text: string) {
    this.#resources.value = text;
    this.#output.replaceChildren();
    this.#status.textContent = '';
  }

  async #toggle(): Promise<void> {
    if (this.#stop !== undefined) return this.#stop.abort();
    this.#stop = new AbortController();
    this.#start.textContent = 'Stop';
    this.#status.textContent = 'Running…';
    try {
      await this.#runOnce(this.#stop.signal);
    } finally {
      this.#stop = undefined;
      this.#start.textContent = 'Run';
    }
  }

  async #runOnce(signal: AbortSignal): Promise<void> {
    const { data, script, schemas } = this.#run;
    const { text, problems } = await this.#readConfig();
    if (problems.length > 0) {
      this.#output.replaceChildren();
      this.#status.textContent = `The functionConfig has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}.`;
      return;
    }
    const resources = this.#resources.value;
    const task = {
      name: `${data.kind}.star`,
      script,
      functionConfig: text,
      resources,
      ...defined({ schemas }),
    };
    this.#show(resources, await this.#frame.run(task, signal));
  }

  #show(before: string, end: RunEnd): void {
    if ('problem' in end) {
      this.#status.textContent = '';
      const attributes = { role: 'alert' };
      this.#output.replaceChildren(element('p', { class: 'try-failure', text: end.problem, attributes }));
      return;
    }
    const { outcome, milliseconds } = end;
    const { resources: after, added, ...rest } = outcome;
    const others = Object.entries(added).map(([path, text]) => ({ path, before: '', after: text }));
    this.#output.replaceChildren(
      ...outputElements({ files: [{ path: FILE, before, after }, ...others], ...rest }),
    );
    const how = outcome.failure === undefined ? 'Done' : 'The function failed';
    this.#status.textContent = `${how} in ${(milliseconds / 1_000).toFixed(2)} s`;
  }
}
