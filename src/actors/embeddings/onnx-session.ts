// OnnxSession: a graph that is open in onnxruntime, on this thread. The library is native and large: it is loaded with the first
// graph, on threads that run graphs, and nowhere else.
// O1 A run blocks the thread (the call looks asynchronous, and is not).

import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { errorText } from '../../std/errors.ts';
import { unusable } from './model-folder.ts';

export interface OnnxSession {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** O1. Numbers go in as the graph wants them. @throws what the run threw */
  run(feeds: Readonly<Record<string, Feed>>, output: string): Promise<OnnxResult>;
  close(): Promise<void>;
}

export interface Feed {
  readonly data: Float32Array | BigInt64Array;
  readonly shape: readonly number[];
}

export interface OnnxResult {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

const ERRORS_ONLY = 3;

export async function openOnnxSession(file: string, threads: number): Promise<OnnxSession> {
  const { default: onnx } = await import('onnxruntime-node').catch((error: unknown) => {
    throw unusable(`onnxruntime does not run here: ${errorText(error).split('\n')[0]}`);
  });
  const options: InferenceSession.SessionOptions = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: ERRORS_ONLY,
  };
  const session = await onnx.InferenceSession.create(file, options).catch(() => {
    // What the library says names the file with its path.
    throw unusable('the graph of the model is damaged, or of a kind that onnxruntime does not know');
  });
  const types = new Map(
    session.inputMetadata.map((input) => [input.name, input.isTensor ? input.type : 'none']),
  );
  return {
    inputs: session.inputNames,
    outputs: session.outputNames,
    async run(feeds, output) {
      const tensors = Object.entries(feeds).map(([name, feed]) => {
        return [name, tensorOf(onnx.Tensor, feed, types.get(name))] as const;
      });
      const results = await session.run(Object.fromEntries(tensors), [output]);
      const result = results[output];
      if (result === undefined) throw new Error(`the graph gave no ${output}`);
      const { data, dims } = result as Tensor;
      if (data instanceof Float32Array) return { data, shape: dims };
      if (result.type === 'float16' && !(data instanceof Uint16Array))
        return { data: Float32Array.from(data as ArrayLike<number>), shape: dims };
      throw unusable(`the graph of the model gives ${result.type}, not numbers with a fraction`);
    },
    close: () => session.release(),
  };
}

function tensorOf(make: typeof Tensor, { data, shape }: Feed, wanted: string | undefined): Tensor {
  if (data instanceof BigInt64Array && wanted === 'int32')
    return new make('int32', Int32Array.from(data, Number), shape);
  return data instanceof Float32Array ? new make('float32', data, shape) : new make('int64', data, shape);
}
