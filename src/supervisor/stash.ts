// Stash: what a handler throws to leave its message aside (see ActorContext.stash). It is no failure: delivery lets it pass.

export const SET_ASIDE: Error = Object.freeze(new Error('this message was set aside'));
