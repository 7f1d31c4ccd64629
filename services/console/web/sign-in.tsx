import { useState } from 'preact/hooks';
import type { Session } from '../api/session';
import { type ApiError, signIn } from './state/api';
import { textsOf } from './ui/form';

/** Asks for a token of the placement API. */
export function SignIn({ why, onDone }: { why: string; onDone: (session: Session) => void }) {
  const [problem, setProblem] = useState(why);
  const submit = async (form: HTMLFormElement) => {
    try {
      onDone(await signIn(textsOf(form)['token'] ?? ''));
    } catch (thrown) {
      setProblem((thrown as ApiError).problem.message);
    }
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault();
          void submit(submitted.currentTarget);
        }}
      >
        <h1>
          <img src="/icon.svg" alt="" width="28" height="28" /> Berth
        </h1>
        <label for="token">Token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          aria-describedby="token-help"
        />
        <p id="token-help" class="faint">
          The one that the placement API takes: of its file of tokens, or Keystone's (<code>openstack token issue</code>
          ).
        </p>
        <button type="submit" class="primary">
          Sign in
        </button>
        <p role="alert" class="alert-text">
          {problem}
        </p>
      </form>
    </main>
  );
}
