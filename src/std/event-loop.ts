// EventLoop: how long work of one kind gives way to everything else on its thread.

/** Runs after sockets, timers and messages have had their turn. */
export type AfterTurn = (run: () => void) => void;

export const afterTurn: AfterTurn = (run) => {
  setImmediate(run);
};
