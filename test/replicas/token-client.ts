import { fillPath } from '@krmhub/api/paths';
import type { History } from './history.js';
import type { Requests, Target } from './requests.js';

/** Makes, uses, and revokes tokens. */
export class TokenClient {
  readonly #requests: Requests;
  readonly #history: History;
  readonly #tokens: { id: string; secret: string }[] = [];

  constructor(requests: Requests, history: History) {
    this.#requests = requests;
    this.#history = history;
  }

  /** Makes a token, uses it everywhere, and sometimes revokes it. */
  async useNew(): Promise<void> {
    const created = await this.#requests.ask(this.#requests.any(), fillPath('tokens', {}), {
      method: 'POST',
      body: JSON.stringify({ name: 'a client', scopes: ['yank'] }),
      headers: { 'content-type': 'application/json' },
      allowed: [201],
    });
    if (created.status !== 201) return;
    const { id, token: secret } = JSON.parse(created.text) as { id: string; token: string };
    this.#tokens.push({ id, secret });
    for (const target of this.#requests.targets) await this.#use(target, { id, secret });
    if (this.#requests.random() < 0.5) return;
    const target = this.#requests.any();
    await this.#history.record(target.name, async () => {
      const request = { method: 'DELETE', allowed: [200, 204] };
      const { status } = await this.#requests.ask(target, fillPath('token', { id }), request);
      return { do: 'revoke', token: id, outcome: status === 200 || status === 204 ? 'done' : 'unknown' };
    });
    for (const one of this.#requests.targets) await this.#use(one, { id, secret });
  }

  async readAll(target: Target): Promise<void> {
    for (const token of this.#tokens) await this.#use(target, token);
  }

  async #use(target: Target, { id, secret }: { id: string; secret: string }): Promise<void> {
    await this.#history.record(target.name, async () => {
      const asked = { token: secret, allowed: [200, 401] };
      const { status } = await this.#requests.ask(target, fillPath('whoami', {}), asked);
      return status === 200 || status === 401
        ? { do: 'use', token: id, accepted: status === 200 }
        : undefined;
    });
  }
}
