// What the tests use of oidc-provider, which brings no types.

declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Adapter {
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface Context {
    readonly oidc: {
      readonly client?: { readonly clientId: string };
      readonly params?: Readonly<Record<string, string | undefined>>;
    };
  }

  interface InteractionDetails {
    readonly params: Readonly<Record<string, string | undefined>>;
    readonly prompt: { readonly name: string };
  }

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    readonly Grant: (new (of: {
      readonly accountId: string;
      readonly clientId: string;
    }) => Grant) & {
      readonly adapter: Adapter;
    };
    readonly RefreshToken: { readonly adapter: Adapter };
    readonly AccessToken: { readonly adapter: Adapter };
    readonly Client: { readonly adapter: Adapter };
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (context: Context, ...rest: readonly unknown[]) => void): this;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<InteractionDetails>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Readonly<Record<string, unknown>>,
      options: { readonly mergeWithLastSubmission: boolean },
    ): Promise<void>;
  }
}
