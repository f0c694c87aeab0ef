"""mutations.py: plants one fault after the other into the runtime; the tests of its row must fail each time.

    mutations.py SOURCE_FOLDER BUILD_FOLDER [ROW ...]

A fault is a row of the list, a file of runtime/, a text that stands in it exactly once (but for spaces), and what stands there instead: the defect
that the row says to avoid, or the feature left out.  A text that is not found is an error too, so the list cannot rot.  The build
folder keeps objects; sources are never touched.
"""
import os
import re
import subprocess
import sys
import tempfile

FAULTS = [
    ("A1", "device.c", "properties.id = runtime->next_device++", "properties.id = 0"),
    ("A2", "device.c", "ordinal < 0 || ordinal >= backend->devices", "ordinal >= backend->devices"),
    ("A3", "command.c", 'status, "%s: %s: %s", command->stream->name, command->name,\n\t\t\t\t\t       text[0]', 'status, "%s: %s: %s", "", command->name,\n\t\t\t\t\t       text[0]'),
    ("A5", "context.c", "for (; context; context = context->parent) {", "for (; context; context = NULL) {"),
    ("A6", "context.c", "if (context->children)\n\t\treturn say(INGOT_BUSY", "if (0)\n\t\treturn say(INGOT_BUSY"),
    ("A6", "context.c", "pool_remove(context->stream->device, context->pools[i]);", ";"),
    ("A7", "context.c", "bool twice = context_find(context, base, &room) != NULL;", "bool twice = false;"),
    ("A8", "device.c", "location_drop(device->constants[i].location);", ";"),
    ("A9", "pool.c", "device->backend->used[device->properties.ordinal] -= slab->bytes ? slab->bytes : 1;", ";"),
    ("A10", "event.c", "event->device->events--;", ";"),
    ("A12", "stream.c", "while (number < device->stream_count && device->streams[number])", "while (number < device->stream_count)"),
    ("A13", "runtime.c", "if (++entry->generation) {", "if (entry->generation) {"),
    ("A14", "device.c", "*count = 1 + (int)properties->copy_engines;", "*count = 1;"),
    ("A15", "runtime.c", "} else if (backend_find(runtime, name))\n\t\tstatus = INGOT_OK;", "} else if (backend_find(runtime, name))\n\t\tstatus = INGOT_PRESENT;"),
    ("A17", "sync.c", ".waits_inline = true", ".waits_inline = false"),
    ("A18", "runtime.c", 'say(INGOT_MISSING, "there is no backend', 'say(INGOT_OK, "there is no backend'),
    ("A19", "routine.c", "if (location->written || ", "if (1 || "),
    ("A20", "stream.c", "return a.runtime == b.runtime && a.index == b.index && a.generation == b.generation;", "return ingot_stream_number(a) == ingot_stream_number(b);"),
    ("B2", "host.c", "align < sizeof(void *) ? sizeof(void *) : align", "sizeof(void *)"),
    ("B2", "pool.c", "\t\tpool_remove(device, id);\n\t\tstruct slab", "\t\tstruct slab"),
    ("B3", "command.c", "slab_keep(request->slabs[i]);", "request->slabs[i]->refs += i > 99;"),
    ("B4", "pool.c", "offset > pool->slab->bytes || bytes > pool->slab->bytes - offset", "offset + bytes > pool->slab->bytes"),
    ("B5", "pool.c", "%s:%d:%u has no pool", "%s:%d:9%u has no pool"),
    ("B6", "device.c", "device->next_pool = 1; ", "device->next_pool = 0; "),
    ("B7", "plan.c", "if (start > limit || items[i].bytes > limit - start) {", "if (start > limit) {"),
    ("B9", "context.c", "one->workspace && one->stream == context->stream", "0 && one->workspace && one->stream == context->stream"),
    ("B10", "link.c", "if (one->bytes == constants->bytes && ", "if (0 && "),
    ("B11", "context.c", "if (!needed)\n\t\t\tcontinue;", "if (1)\n\t\t\tcontinue;"),
    ("B12", "context.c", "const void *data = node->host_version ? node->host : node->initial;\n\t\tenum", "const void *data = NULL;\n\t\tenum"),
    ("B13", "context.c", "room->offset += offset;", ";"),
    ("B14", "plan.c", "return work->lanes && !buffer_before(work, a, b) && !buffer_before(work, b, a);", "return false;"),
    ("B15", "pool.c", "present >= bytes", "present < bytes"),
    ("B16", "pool.c", "slab->base = table->slab_base(slab->raw);", "slab->base = bytes ? table->slab_base(slab->raw) : NULL;"),
    ("B18", "pool.c", "if (host_offset > host_room || bytes > host_room - host_offset)\n\t\treturn say(INGOT_RANGE, \"%llu bytes at %llu of a host array of %llu\", (unsigned long long)bytes, (unsigned long long)host_offset,\n\t\t\t   (unsigned long long)host_room);\n\tenum ingot_status status = ingot_pool_read(stream, buffer->pool, offset,", "enum ingot_status status = ingot_pool_read(stream, buffer->pool, 0,"),
    ("B19", "pool.c", "pool %u has %llu bytes, not %llu at offset %llu", "pool %u has %llu bytes (%llu, %llu)"),
    ("C1", "event.c", "*done = !event->command || command_done(event->command);", "*done = true;"),
    ("C3", "command.c", "\tatomic_store(&command->state, COMMAND_DONE);", "\tif (!command->failure)\n\t\tatomic_store(&command->state, COMMAND_DONE);"),
    ("C4", "stream.c", "stream->tail && comes_after(stream->tail, event->command)", "false"),
    ("C4", "command.c", "return head && !head->pending &&", "return head &&"),
    ("C5", "stream.c", "if (stream->failure) {\n\t\t\tstatus", "if (0) {\n\t\t\tstatus"),
    ("C6", "stream.c", "*idle = !stream->head;", "*idle = true;"),
    ("C7", "command.c", "else if (stream->count < runtime->options.queue_capacity)", "else if (1)"),
    ("C7", "command.c", "\telse\n\t\tstream->head = command;\n\tstream->tail = command;", "\telse\n\t\tstream->head = command;\n\tif (stream->count % 2 || stream->count < 2)\n\t\tstream->tail = command;"),
    ("C8", "stream.c", "status = stream->reported ? say(INGOT_STOPPED", "status = 0 ? say(INGOT_STOPPED"),
    ("C8", "command.c", "if (stream->failure && !command->cause)", "if (0)"),
    ("C8", "command.c", "if (edge->carries && command->failure && !to->cause)", "if (0)"),
    ("C9", "multicore.c", "pthread_join(queue->thread, NULL);", ";"),
    ("C10", "stream.c", "int (*const run[])(void *) = { task->before, task->run, task->after };", "int (*const run[])(void *) = { task->run, task->before, task->after };"),
    ("C10", "command.c", "if (command->destroy)\n\t\tcommand->destroy(command->payload);", ";"),
    ("C11", "device.c", "hazard_prune(runtime, &device->locations[i]->hazard);", ";"),
    ("C12", "routine.c", "if ((routine->last = command))\n\t\t\tcommand_keep(command);", "routine->last = NULL;"),
    ("C13", "command.c", "if (hazard->writer)\n\t\t\tedge_add(command, hazard->writer, access->read);", ";"),
    ("C13", "routine.c", "if (!status && runtime->options.automatic_transfers)", "if (0)"),
    ("C14", "device.c", "enum ingot_status one = ingot_stream_await(stream);", "enum ingot_status one = INGOT_OK;\n\t\t(void)stream;"),
    ("C15", "runtime.c", "\tpthread_mutex_lock(&runtime->lock);", "\t(void)runtime;"),
    ("D1", "transfer.c", "*present = context_find(context, node, &entry) != NULL;", "context_find(context, node, &entry);\n\t*present = true;"),
    ("D2", "values.c", "host_wait(node, false);\n\tif (!status && node->host_hazard.taint)", "if (!status && node->host_hazard.taint)"),
    ("D3", "transfer.c", "if (!status && context_find(context, node, &room))", "if (0)"),
    ("D4", "transfer.c", "else if (context_find(context, node, &room))", "else if (0)"),
    ("D5", "transfer.c", "(to.location == from.location && to.offset == from.offset)", "0"),
    ("D6", "transfer.c", "if (merge->owned && merge->owned->bytes >= bytes)", "if (merge->owned)"),
    ("D7", "routine.c", "access_add(gathering, merge->streaming ? &merge->streaming->hazard : &merge->hazard, true, false);", ";"),
    ("D7", "transfer.c", "if (merge == INGOT_MERGE_STREAMING && stream->device == source->stream->device) {", "if (0) {"),
    ("D8", "transfer.c", "if (update)\n\t\tcommand_keep(update);\n\tcommand_drop(merge->update);\n\tmerge->update = update;", "command_drop(merge->update);\n\tmerge->update = NULL;\n\t(void)update;"),
    ("D9", "routine.c", "if (stream->merge.node == node)", "if (stream->merge.node)"),
    ("D10", "link.c", "parent->merge_node == library->nodes[routine->merge_input])", "1)"),
    ("D11", "library.c", "(routine->merge_input < 0 || argument->index != (uint32_t)routine->merge_input)", "0"),
    ("D12", "transfer.c", "slab_drop(merge->owned);\n\tmerge->owned = grown;", "slab_drop(grown);"),
    ("D15", "transfer.c", "routine->merge = merge;", "routine->merge = INGOT_MERGE_COPY;"),
    ("D16", "transfer.c", "if (target->device->backend != source->device->backend)", "if (0)"),
    ("E1", "link.c", "if (ingot_mode_known_shared(&node->mode)) {", "if (0) {"),
    ("E2", "link.c", "if (owner && owner != context->stream) {", "if (0) {"),
    ("E3", "link.c", "entries_remove(runtime, &device->candidates, node);\n\t\treturn INGOT_OK;", "return INGOT_OK;"),
    ("E4", "link.c", "(*out)->owner = context->stream;", ";"),
    ("E5", "command.c", "if (hazard->writer)\n\t\t\tedge_add(command, hazard->writer, access->read);", ";"),
    ("E6", "values.c", "while (hazard_busy(runtime, &node->host_hazard, readers_too))", "while (0)"),
    ("E7", "command.c", "for (uint32_t k = 0; access->write && k < hazard->reader_count; k++)\n\t\t\tedge_add", "for (uint32_t k = 0; 0 && k < hazard->reader_count; k++)\n\t\t\tedge_add"),
    ("E8", "transfer.c", "(to.location == from.location && to.offset == from.offset)", "0"),
    ("E9", "command.c", "\t\thazard_prune(runtime, request->accesses[i].hazard);", ";"),
    ("E10", "link.c", "if (device->properties.host_memory && ", "if (0 && "),
    ("F3", "link.c", "library->module->nodes[k].flags & INGOT_NODE_STATE)", "0)"),
    ("F4", "values.c", "runtime->options.automatic_transfers && node->host_version != node->newest", "0"),
    ("F6", "values.c", "if (ingot_mode_known_constant(&node->mode) && node->host_version)", "if (0)"),
    ("F6", "transfer.c", "if (own && ingot_mode_known_volatile(&node->mode))", "if (0)"),
    ("F7", "mode.c", "state->provenance = state->provenance * 1000 + by;", "state->provenance = by;"),
    ("F8", "mode.c", "bytes <= INGOT_LOCAL_BYTES", "bytes < INGOT_LOCAL_BYTES"),
    ("F9", "mode.c", "if (!both)\n", "if (0)\n"),
    ("F10", "mode.c", "if (sharing == INGOT_PER_STREAM && !(mode & ", "if (0 && !(mode & "),
    ("F11", "node.c", "ingot_mode_settle(&node->mode, bytes, by);\n\t}\n\tif (answer)", "}\n\tif (answer)"),
    ("F12", "mode.c", "return within(state, INGOT_HOSTED_VOLATILE);", "return within(state, INGOT_HOSTED_NONCONSTANT);"),
    ("F14", "mode.c", "if (state->frozen && state->dtype != (uint32_t)next)", "if (0)"),
    ("F15", "mode.c", '{ INGOT_BF16, "bf16", 16, 18,', '{ INGOT_BF16, "bf16", 16, 17,'),
    ("F16", "node.c", "INGOT_PRECISION_DEFAULT, runtime->options.default_dtype, false", "INGOT_PRECISION_DEFAULT, INGOT_F32, false"),
    ("F17", "node.c", "__builtin_mul_overflow(count, (uint64_t)options->dims[i], &count) || count > UINT64_C(1) << 56", "(count *= (uint64_t)options->dims[i], 0)"),
    ("F18", "values.c", "(uint64_t)(index[i] + node->left[i])", "(uint64_t)index[i]"),
    ("F20", "node.c", "node->host = data;", "node->host = memory_new(runtime, 1, bytes);\n\t\tnode->host_owned = true;"),
    ("F21", "values.c", "if (count != logical)", "if (count < logical)"),
    ("F22", "values.c", "if (!node->rank && rank == 1 && index[0] == 0)", "if (0)"),
    ("F23", "values.c", "return count == logical ? INGOT_OK", "return count >= logical ? INGOT_OK"),
    ("F24", "values.c", "axis = axis < 0 ? (int)node->rank - 1 : axis;", "axis = axis < 0 ? 0 : axis;"),
    ("F25", "transfer.c", "node->host_version = location->version;", ";"),
    ("F26", "values.c", "while (hazard_busy(runtime, &node->host_hazard, readers_too))", "while (hazard_busy(runtime, &node->host_hazard, false))"),
    ("F27", "values.c", "runtime->options.automatic_transfers && node->host_version", "node->host_version"),
    ("F28", "routine.c", "return node->host_version && node->host_version == node->newest && location->version != node->newest;", "return node->host_version;"),
    ("F29", "values.c", "if (!node->host)\n\t\tstatus = say(INGOT_MISSING", "if (0)\n\t\tstatus = say(INGOT_MISSING"),
    ("F30", "node.c", 'sink_printf(&sink, "n%u", node->id);\n\tif (node->label_count)\n', 'sink_printf(&sink, "n%u", node->id);\n\tif (0)\n'),
    ("F31", "names.c", "(!grad && ingot_name_is_keyword(first))", "0"),
    ("F32", "names.c", "if (old_has != new_has)", "if (0)"),
    ("F33", "names.c", '"only_ids", "under_grad", "dot_grad"', '"only_ids", "dot_grad", "under_grad"'),
    ("F34", "node.c", "node->id > id && (!found || node->id < found->id)", "node->id > id && !found"),
    ("F35", "node.c", "return x < y ? -1 : x > y;", "return 0;"),
    ("F36", "node.c", 'sink_printf(sink, " | %s", node->note);', ";"),
    ("F37", "mode.c", 'used ? "|" : "", modes[i].name);', '"", modes[i].name);'),
    ("G1", "dump.c", 'sink_printf(sink, ",\\"outputs\\":");\n\tnames_print(sink, module, routine->outputs, routine->output_count);', 'sink_printf(sink, ",\\"outputs\\":");\n\tnames_print(sink, module, routine->inputs, routine->input_count);'),
    ("G2", "routine.c", "if (!routine->symbol_set[i])\n\t\t\treturn say(INGOT_RANGE", "if (0)\n\t\t\treturn say(INGOT_RANGE"),
    ("G3", "routine.c", "location->written = true;", ";"),
    ("G4", "link.c", "if (node->mode.sharing == INGOT_PER_STREAM || ingot_mode_known_volatile(&node->mode) || !(node->initial || node->host_version))", "if (0)"),
    ("G5", "link.c", "if (keep && !keep(name, user))", "if (0)"),
    ("G6", "link.c", "base->mode.sharing != INGOT_SHARED)\n\t\treturn say(INGOT_MISSING", "0)\n\t\treturn say(INGOT_MISSING"),
    ("G7", "routine.c", "if (value < symbol->least || value > symbol->most)", "if (value > symbol->most)"),
    ("H1", "runtime.c", "index < runtime->handle_count && generation &&", "index < runtime->handle_count && 1 + 0 * generation +"),
    ("H2", "pool.c", "if (kernel->dtypes && kernel->dtypes[i] != arguments[i].dtype)", "if (0)"),
    ("H3", "device.c", "ingot_device_get(runtime, name, 0, out)", "ingot_device_another(runtime, name, 0, out)"),
    ("H4", "host.c", ".group_threads = 1,", ".group_threads = 1024 * 1024,"),
    ("H5", "host.c", "return (unsigned)dtype < COUNT(yes) && yes[dtype];", "return yes[0] || dtype;"),
    ("H9", "mode.c", "__builtin_mul_overflow(count, (uint64_t)ingot_dtype_bits(dtype), &bits)", "(bits = count * ingot_dtype_bits(dtype), 0)"),
    ("H10", "pool.c", "if (host_offset > host_room || bytes > host_room - host_offset)\n\t\treturn say(INGOT_RANGE, \"%llu bytes at %llu of a host array of %llu\", (unsigned long long)bytes, (unsigned long long)host_offset,\n\t\t\t   (unsigned long long)host_room);\n\tenum ingot_status status = ingot_pool_write", "enum ingot_status status = ingot_pool_write"),
    ("H11", "library.c", "enum ingot_status status = INGOT_MISSING;\n\tfor (uint32_t i = 0; i < module->kernel_count && status; i++)\n\t\tif (!strcmp(module->kernels[i].name, name)) {", "enum ingot_status status = INGOT_MISSING;\n\tfor (uint32_t i = 0; i < module->kernel_count && status; i++)\n\t\tif (!strncmp(module->kernels[i].name, name, 5)) {"),
    ("H12", "host.c", "(uint32_t)(at / grid->groups[0] % grid->groups[1])", "0"),
    ("H13", "device.c", "enum ingot_status one = ingot_stream_await(stream);", "enum ingot_status one = INGOT_OK;\n\t\t(void)stream;"),
    ("H14", "status.c", 'S(INGOT_CYCLE, "it would wait for itself")', ""),
    ("H16", "schedule.c", "scheduling->after[after++] = scheduling->commands[step->after[i]];", "scheduling->after[after] = scheduling->commands[step->after[i]];"),
    ("H18", "library.c", "module->symbols[i].least > module->symbols[i].most", "0"),
    ("H19", "mode.c", '{ INGOT_BOOL, "bool", 8,', '{ INGOT_BOOL, "bool", 1,'),
]


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def main():
    source, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rows = sys.argv[3:]
    runtime, tests = os.path.join(source, "runtime"), os.path.join(source, "tests", "runtime", "rows")
    folder = os.path.join(build, "mutations")
    os.makedirs(folder, exist_ok=True)
    compiler = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-I", os.path.join(runtime, "include"), "-I", runtime]
    objects = {}
    for place in runtime, tests:
        for name in sorted(os.listdir(place)):
            if name.endswith(".c"):
                objects[os.path.join(place, name)] = out = os.path.join(folder, os.path.basename(place) + "_" + name[:-2] + ".o")
                if run(compiler + ["-c", os.path.join(place, name), "-o", out]).returncode:
                    sys.exit(f"{name} does not compile")
    missed = caught = 0
    for row, name, old, new in FAULTS:
        if rows and row not in rows:
            continue
        path = os.path.join(runtime, name)
        text = open(path).read()
        # Spaces and line ends do not count, so that the list survives formatting.
        found = re.findall(r"\s*".join(re.escape(c) for c in old if not c.isspace()), text)
        if len(found) != 1:
            print(f"{row} {name}: the text stands there {len(found)} times: {old[:60]!r}")
            missed += 1
            continue
        with tempfile.TemporaryDirectory(dir=folder) as made:
            changed = os.path.join(made, name)
            open(changed, "w").write(text.replace(found[0], new))
            program = os.path.join(made, "rows")
            built = run(compiler + ["-c", changed, "-o", os.path.join(made, "changed.o")])
            if built.returncode:
                print(f"{row} {name}: the fault does not compile: {built.stderr[:200]}")
                missed += 1
                continue
            run(compiler + [o for p, o in objects.items() if p != path] + [os.path.join(made, "changed.o"), "-o", program, "-lpthread", "-lm"])
            answer = run([program, "--row", row], env=dict(os.environ, ROW_SECONDS="4", ROW_SHORT="1"))
        if answer.returncode == 0:
            print(f"{row} {name}: not caught: {old[:70]!r}")
            missed += 1
        else:
            caught += 1
    print(f"{caught} planted faults caught, {missed} not")
    sys.exit(missed != 0)


main()
