import type { TokenScope } from '@krmhub/api/token-scopes';
import type { KrmhubError } from '@krmhub/schema';
import { Words } from '../error/error-page.js';
import { Text } from '../parts/text.js';
import { sentence } from '../sentence.js';
import { useOperator } from './operator.js';

/** Shows which operation is forbidden, what it needs, and what the token has. */
export function ForbiddenPage({ error, needs }: { error: KrmhubError; needs?: TokenScope | undefined }) {
  const isUser = useOperator().token.user !== undefined;
  return (
    <div class="error-page">
      <h1>
        Forbidden <span class="quiet">403</span>
      </h1>
      <p class="error-detail">
        <Text value={sentence(error.message)} max={2_000} />
      </p>
      {needs === undefined ? null : (
        <p>
          This page requires a {isUser ? 'team with the role' : 'token with the scope'} <code>{needs}</code>{' '}
          for all groups.
        </p>
      )}
      {error.hint === undefined ? null : (
        <p>
          <Words text={error.hint} />
        </p>
      )}
    </div>
  );
}
