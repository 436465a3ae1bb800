/** Skips the immediates of instructions that the rewriter does not interpret. */
import { valueType } from './module.ts';
import type { ModuleReader } from './module-reader.ts';
import type { Operation } from './opcodes.ts';

/** Skips the immediates of an instruction that is neither control nor a call. Throws `ModuleError`. */
export function skipImmediate(reader: ModuleReader, operation: Operation): void {
  switch (operation.immediate) {
    case 'index':
      reader.u32();
      break;
    case 'memoryArgument':
      if (reader.u32() > 3) reader.fail('an alignment beyond 8 bytes, or of another memory than 0');
      reader.u32();
      break;
    case 'zero':
      zero(reader);
      break;
    case 'zeroZero':
      zero(reader);
      zero(reader);
      break;
    case 'indexZero':
      reader.u32();
      zero(reader);
      break;
    case 'indexIndex':
      reader.u32();
      reader.u32();
      break;
    case 's32':
      reader.skipSigned(5);
      break;
    case 's64':
      reader.skipSigned(10);
      break;
    case 'f32':
      reader.skip(4);
      break;
    case 'f64':
      reader.skip(8);
      break;
    case 'refType':
      valueType(reader);
      break;
    case 'selectTypes':
      if (reader.u32() !== 1) reader.fail('a select of several types, which is not allowed');
      valueType(reader);
      break;
    default:
      break;
  }
}

function zero(reader: ModuleReader): void {
  if (reader.u8() !== 0) reader.fail('another memory than 0, which is not allowed');
}
