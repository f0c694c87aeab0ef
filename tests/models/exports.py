"""Networks as the world's exporters write them, weights drawn: a function for each, by the exporter's own packages.

A row of EXPORTS says the name, and who makes it: a function of a path that writes a model there and gives the inputs as arrays by their names."""
import os

import numpy as np
import onnx


def drawn(seed=0):
    return np.random.default_rng(seed)


def images(*shape):
    return drawn().standard_normal(shape, np.float32)


# ---- PyTorch ----

def exported(module, arguments, path, names, outputs=None, dynamic=None, legacy=False):
    """The module's file by torch.onnx: the exporter of today, or with `legacy` the one before it."""
    import torch
    module.eval()
    more = {"dynamo": False, "dynamic_axes": dynamic, "opset_version": 17} if legacy else {"dynamo": True, "dynamic_shapes": dynamic, "external_data": False}
    with torch.no_grad():
        torch.onnx.export(module, tuple(torch.from_numpy(a) for a in arguments), path, input_names=names, output_names=outputs, verbose=False, **more)
    return dict(zip(names, arguments))


def settled(module, seed=0):
    """Statistics of normalisations are drawn, too: else they would do nothing."""
    import torch
    torch.manual_seed(seed)
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
            part.running_mean.normal_(0, .1)
            part.running_var.uniform_(.5, 1.5)
    return module


def vision(name, size=224, legacy=False, dynamic=None, group=None, **how):
    def make(path):
        import torch
        import torchvision
        torch.manual_seed(0)
        models = getattr(torchvision.models, group) if group else torchvision.models
        if group or "resnet" in name or "googlenet" not in name:
            how.setdefault("weights", None)
        if group:
            how.setdefault("weights_backbone", None)
        module = settled(getattr(models, name)(**how))
        data = images(1, 3, size, size) if group != "optical_flow" else None
        if group == "detection":
            data = np.abs(data[0]) % 1
            return exported(Detects(module), [data], path, ["image"], ["boxes", "labels", "scores"], legacy=True)
        if group == "segmentation":
            module = Takes(module, "out")
        return exported(module, [data], path, ["image"], legacy=legacy, dynamic=dynamic)
    return make


def Takes(module, key):
    import torch

    class Taking(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, *x, **named):
            made = self.inner(*x, **named)
            return made[key]
    return Taking()


def Detects(module):
    import torch

    class Detecting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, image):
            made = self.inner([image])[0]
            return tuple(made.values())
    return Detecting()


def timm_(name, size=224, legacy=False, batch=None, **how):
    def make(path):
        import timm
        import torch
        torch.manual_seed(0)
        module = settled(timm.create_model(name, pretrained=False, exportable=True, **how))
        data = images(2 if batch else 1, 3, size, size)
        dynamic = None
        if batch:
            dynamic = {"image": {0: "batch"}} if legacy else ({0: torch.export.Dim("batch", min=1, max=8)},)
        return exported(module, [data], path, ["image"], legacy=legacy, dynamic=dynamic)
    return make


def tokens(classes, *shape):
    return drawn(1).integers(3, classes, shape)


def transformer(config, model, arguments, key=0, legacy=False, dynamic=None, **sizes):
    """transformers' model of a small configuration.  arguments: a function that gives the inputs by their names."""
    def make(path):
        import torch
        import transformers
        torch.manual_seed(0)
        settings = getattr(transformers, config)(**sizes)
        settings.return_dict, settings.use_cache = True, False
        module = getattr(transformers, model)._from_config(settings, attn_implementation=ATTENTION.get(model, "eager"))
        feeds = arguments()
        names = list(feeds)

        class Called(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = module

            def forward(self, *values):
                return self.inner(**dict(zip(names, values)))[key]
        return exported(settled(Called()), list(feeds.values()), path, names, legacy=legacy, dynamic=dynamic and dynamic(names, legacy))
    return make


ATTENTION = {"BertModel": "sdpa"}


def text(classes=1000, length=16, batch=1, masked=True):
    def feeds():
        said = {"input_ids": tokens(classes, batch, length)}
        if masked:
            said["attention_mask"] = np.ones((batch, length), np.int64)
            said["attention_mask"][:, length - 3:] = 0
        return said
    return feeds


SMALL = dict(vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)


# ---- what is learnt of tables ----

def table(rows=300, columns=10, classes=3, seed=0):
    random = drawn(seed)
    x = random.standard_normal((rows, columns)).astype(np.float32)
    y = ((x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int) + (x[:, 3] > .5) * (classes > 2)).astype(np.int64)
    return x, y


def sklearn_(build, classes=3, regress=False, rows=50, options=None, strings=False):
    def make(path):
        from skl2onnx import to_onnx
        x, y = table(classes=classes)
        target = (x[:, 0] * 2 + np.sin(x[:, 1])).astype(np.float32) if regress else np.array(["red", "green", "blue"])[y] if strings else y
        learnt = build().fit(x, target)
        onnx.save(to_onnx(learnt, x[:1], options=options and {id(learnt): options}, target_opset={"": 18, "ai.onnx.ml": 3}), path)
        return {"X": table(rows, classes=classes, seed=1)[0]}
    return make


def sk(module, name, **how):
    def build():
        import importlib
        return getattr(importlib.import_module("sklearn." + module), name)(**how)
    return build


def pipeline(*builds):
    def build():
        from sklearn.pipeline import make_pipeline
        return make_pipeline(*(one() for one in builds))
    return build


def columns_of_text(path):
    """A pipeline over a frame of strings and numbers, as skl2onnx writes it: an input for each column."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    import pandas
    x, y = table(200, 4)
    words = np.array(["north", "south", "east"])[drawn(3).integers(0, 3, 200)]
    frame = pandas.DataFrame({"wind": words, "heat": x[:, 0], "rain": x[:, 1]})
    learnt = make_pipeline(ColumnTransformer([("w", OneHotEncoder(handle_unknown="ignore"), ["wind"]), ("n", StandardScaler(), ["heat", "rain"])]), LogisticRegression())
    learnt.fit(frame, (x[:, 0] > 0).astype(np.int64))
    onnx.save(to_onnx(learnt, initial_types=[("wind", StringTensorType([None, 1])), ("heat", FloatTensorType([None, 1])), ("rain", FloatTensorType([None, 1]))]), path)
    return {"wind": words[:20].reshape(-1, 1).astype(object), "heat": x[:20, :1], "rain": x[:20, 1:2]}


def words_counted(path):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    said = ["the cat sat on the mat", "a dog ran far away", "cats and dogs run", "the mat was red", "far away the dog sat"] * 4
    learnt = make_pipeline(TfidfVectorizer(lowercase=False), LogisticRegression()).fit(said, np.arange(20) % 2)
    onnx.save(to_onnx(learnt, initial_types=[("text", StringTensorType([None]))]), path)
    return {"text": np.array(said[:6], object)}


def lightgbm_(kind, classes=3, categories=(), **how):
    def make(path):
        import lightgbm
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType
        (x, y), (asked, _) = table(classes=classes), table(50, seed=1)
        for k in categories:                                  # whole numbers, whose sets decide
            x[:, k], asked[:, k] = np.abs(x[:, k] * 8).round(), np.abs(asked[:, k] * 8).round()
        target = x[:, 0] + sum(x[:, k] % 3 for k in categories) if "Regressor" in kind else y
        learnt = getattr(lightgbm, kind)(n_estimators=20, verbose=-1, n_jobs=1, **how).fit(x, target, categorical_feature=list(categories) or "auto")
        onnx.save(convert_lightgbm(learnt, initial_types=[("X", FloatTensorType([None, x.shape[1]]))], target_opset=15), path)
        return {"X": asked}
    return make


def xgboost_(kind, classes=3, **how):
    def make(path):
        import xgboost
        from onnxmltools import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType
        x, y = table(classes=classes)
        learnt = getattr(xgboost, kind)(n_estimators=20, n_jobs=1, **how).fit(x, x[:, 0] if "Regressor" in kind else y)
        onnx.save(convert_xgboost(learnt, initial_types=[("X", FloatTensorType([None, x.shape[1]]))], target_opset=15), path)
        return {"X": table(50, seed=1)[0]}
    return make


def catboost_(kind, classes=3, **how):
    def make(path):
        import catboost
        x, y = table(classes=classes)
        learnt = getattr(catboost, kind)(iterations=20, thread_count=1, verbose=False, allow_writing_files=False, **how)
        learnt.fit(x, x[:, 0] if "Regressor" in kind else y)
        learnt.save_model(path, format="onnx")
        return {"features": table(50, seed=1)[0]}
    return make


# ---- onnxruntime's own forms of a file ----

def saved_at(make, level):
    """What onnxruntime writes behind its own optimisations of a level."""
    def again(path):
        import onnxruntime
        feeds = make(path)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = path + ".opt"
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        os.replace(path + ".opt", path)
        return feeds
    return again


def optimised(make, kind, **how):
    """onnxruntime.transformers.optimizer, whose nodes are fused ones of com.microsoft."""
    def again(path):
        from onnxruntime.transformers import optimizer
        feeds = make(path)
        made = optimizer.optimize_model(path, kind, **how)
        made.save_model_to_file(path)
        return feeds
    return again


def half(make, keep_io=False):
    def again(path):
        from onnxconverter_common import float16
        feeds = make(path)
        onnx.save(float16.convert_float_to_float16(onnx.load(path), keep_io_types=keep_io), path)
        return {name: value.astype(np.float16) if value.dtype == np.float32 and not keep_io else value for name, value in feeds.items()}
    return again


def quantised(make, form=None, **how):
    """By onnxruntime.quantization: dynamic where `form` is None, else QOperator or QDQ, calibrated by the one input."""
    def again(path):
        from onnxruntime import quantization as q
        feeds = make(path)
        into = path + ".q"

        class One(q.CalibrationDataReader):
            def __init__(self):
                self.left = [feeds]

            def get_next(self):
                return self.left.pop() if self.left else None
        if form is None:
            q.quantize_dynamic(path, into, **how)
        else:
            prepared = path + ".p"
            q.shape_inference.quant_pre_process(path, prepared, skip_symbolic_shape=True)
            q.quantize_static(prepared, into, One(), quant_format=q.QuantFormat[form], **how)
            os.remove(prepared)
        os.replace(into, path)
        return feeds
    return again


def nbits(make, bits=4):
    def again(path):
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        feeds = make(path)
        made = MatMulNBitsQuantizer(onnx.load(path), block_size=32, is_symmetric=False, bits=bits)
        made.process()
        made.model.save_model_to_file(path)
        return feeds
    return again


def recurrent(kind, dynamic=False, **how):
    def make(path):
        import torch
        torch.manual_seed(0)

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = getattr(torch.nn, kind)(40, 64, 2, batch_first=True, **how)
                self.head = torch.nn.Linear(64 * (1 + how.get("bidirectional", False)), 10)

            def forward(self, x):
                return self.head(self.layers(x)[0]).log_softmax(-1)
        return exported(Net(), [drawn().standard_normal((1, 20, 40), np.float32)], path, ["frames"], legacy=True,
                        dynamic={"frames": {1: "time"}} if dynamic else None)
    return make


def voice(path):
    """VITS without noise: how long the speech is, data decide."""
    return transformer("VitsConfig", "VitsModel", text(38, 12, masked=False), key="waveform", legacy=True, hidden_size=32, num_hidden_layers=2,
                       num_attention_heads=2, ffn_dim=64, flow_size=32, spectrogram_bins=33, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2,
                       posterior_encoder_num_wavenet_layers=2, upsample_initial_channel=64, duration_predictor_filter_channels=32,
                       depth_separable_num_layers=2, duration_predictor_num_flows=2, noise_scale=0., noise_scale_duration=0., vocab_size=38)(path)


def whisper(part):
    def make(path):
        import torch
        import transformers
        torch.manual_seed(0)
        settings = transformers.WhisperConfig(vocab_size=200, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                              encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=20, max_source_positions=50, max_target_positions=32,
                                              use_cache=False, pad_token_id=1, bos_token_id=2, eos_token_id=2, decoder_start_token_id=2)
        module = transformers.WhisperModel._from_config(settings, attn_implementation="eager")
        sound, heard, said = images(1, 20, 100), images(1, 50, 64), tokens(200, 1, 6)
        if part == "encoder":
            return exported(Takes(module.encoder, 0), [sound], path, ["sound"])

        class Decodes(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = module.decoder

            def forward(self, ids, states):
                return self.inner(input_ids=ids, encoder_hidden_states=states)[0]
        return exported(Decodes(), [said, heard], path, ["ids", "states"])
    return make


def bert(**how):
    return transformer("BertConfig", "BertModel", text(), **SMALL, **how)


def lengths(names, legacy):
    import torch
    if legacy:
        return {name: {0: "batch", 1: "length"} for name in names}
    batch, length = torch.export.Dim("batch", min=1, max=8), torch.export.Dim("length", min=2, max=64)
    return (tuple({0: batch, 1: length} for _ in names),)


# What data decide in these, and nothing in the file bounds (--dim): names as torch 2.15 writes them.  Of maskrcnn one box in 51 lies by a whole number, so its mask
# stands a pixel beside onnxruntime's; the others are within a hundredth.
RANGES = {
    "maskrcnn": "mask.3:2=0..128 mask.3:3=0..128 3037:0=0..64 unpaded_im_mask:1=0..64 zeros_y0:0=0..64 zeros_y1:0=0..64 zeros_x0:1=0..64 zeros_x1:1=0..64",
    "keypointrcnn": "2894:2=0..64 2894:3=0..64",
    "vits": "/inner/Range_output_0:0=0..1024",
}

EXPORTS = {
    # torchvision
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "mobilenet_v2_legacy": vision("mobilenet_v2", legacy=True),
    "shufflenet_v2": vision("shufflenet_v2_x0_5"),
    "squeezenet": vision("squeezenet1_1"),
    "efficientnet_b0": vision("efficientnet_b0", 128),
    "densenet121": vision("densenet121", 64),
    "googlenet": vision("googlenet", 96, aux_logits=False, init_weights=False),
    "regnet": vision("regnet_y_400mf", 128),
    "mnasnet": vision("mnasnet0_5", 128),
    "swin_t": vision("swin_t", 64),
    "convnext_tiny": vision("convnext_tiny", 64),
    "lraspp": vision("lraspp_mobilenet_v3_large", 160, group="segmentation"),
    "deeplab": vision("deeplabv3_mobilenet_v3_large", 160, group="segmentation"),
    "fasterrcnn": vision("fasterrcnn_mobilenet_v3_large_320_fpn", 320, group="detection", box_score_thresh=.01),
    "ssdlite": vision("ssdlite320_mobilenet_v3_large", 320, group="detection"),
    "maskrcnn": vision("maskrcnn_resnet50_fpn", 64, group="detection", min_size=64, max_size=64, box_score_thresh=.01),
    "keypointrcnn": vision("keypointrcnn_resnet50_fpn", 64, group="detection", min_size=64, max_size=64, box_score_thresh=.01),
    "retinanet": vision("retinanet_resnet50_fpn", 64, group="detection", min_size=64, max_size=64),
    "fcos": vision("fcos_resnet50_fpn", 64, group="detection", min_size=64, max_size=64),
    # timm
    "mixer": timm_("mixer_s32_224"),
    "vit_tiny": timm_("vit_tiny_patch16_224", batch=True),
    "vit_tiny_legacy": timm_("vit_tiny_patch16_224", batch=True, legacy=True),
    "mobilevit": timm_("mobilevit_xxs", 128),
    "ghostnet": timm_("ghostnet_050", 128),
    "levit": timm_("levit_128s"),
    "edgenext": timm_("edgenext_xx_small", 128),
    "poolformer": timm_("poolformer_s12", 64),
    "resmlp": timm_("resmlp_12_224"),
    "coat": timm_("coat_tiny", 64, img_size=64),
    "maxvit": timm_("maxvit_rmlp_pico_rw_256", 256),
    "eva02": timm_("eva02_tiny_patch14_224"),
    "crossvit": timm_("crossvit_tiny_240", 240),
    "xcit": timm_("xcit_nano_12_p16_224"),
    "hrnet": timm_("hrnet_w18_small", 64),
    "nfnet": timm_("nf_resnet26", 64) ,
    "repvgg": timm_("repvgg_a0", 64),
    "tinynet": timm_("tinynet_e", 106, batch=True),
    "fastvit": timm_("fastvit_t8", 128),
    "mobilenetv4": timm_("mobilenetv4_conv_small_050", 128),
    "efficientvit": timm_("efficientvit_b0", 128),
    "volo": timm_("volo_d1_224"),
    # transformers
    "bert": bert(),
    "bert_lengths": bert(legacy=True, dynamic=lengths),
    "roberta": transformer("RobertaConfig", "RobertaModel", text(), **SMALL),
    "distilbert": transformer("DistilBertConfig", "DistilBertModel", text(), vocab_size=1000, dim=128, n_layers=2, n_heads=4, hidden_dim=256),
    "albert": transformer("AlbertConfig", "AlbertModel", text(), embedding_size=64, **SMALL),
    "deberta": transformer("DebertaV2Config", "DebertaV2Model", text(), relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=16, **SMALL),
    "gpt2": transformer("GPT2Config", "GPT2LMHeadModel", text(), vocab_size=1000, n_embd=128, n_layer=2, n_head=4),
    "t5_encoder": transformer("T5Config", "T5EncoderModel", text(), vocab_size=1000, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4),
    "bart": transformer("BartConfig", "BartModel", text(), vocab_size=1000, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128),
    "llama": transformer("LlamaConfig", "LlamaForCausalLM", text(), num_key_value_heads=2, **SMALL),
    "qwen2": transformer("Qwen2Config", "Qwen2ForCausalLM", text(), num_key_value_heads=2, **SMALL),
    "gemma": transformer("GemmaConfig", "GemmaForCausalLM", text(), num_key_value_heads=1, head_dim=32, **SMALL),
    "vit": transformer("ViTConfig", "ViTModel", lambda: {"pixel_values": images(1, 3, 64, 64)}, image_size=64, **{k: v for k, v in SMALL.items() if k != "vocab_size"}),
    "clip_text": transformer("CLIPTextConfig", "CLIPTextModel", text(), **SMALL),
    "segformer": transformer("SegformerConfig", "SegformerForSemanticSegmentation", lambda: {"pixel_values": images(1, 3, 64, 64)}),
    "wav2vec2": transformer("Wav2Vec2Config", "Wav2Vec2Model", lambda: {"input_values": images(1, 4000)}, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_dim=(64,) * 7, **SMALL),
    "detr": transformer("DetrConfig", "DetrForObjectDetection", lambda: {"pixel_values": images(1, 3, 64, 64)}, use_timm_backbone=True, backbone="resnet18", use_pretrained_backbone=False,
                        d_model=64, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=10),
    "whisper_encoder": whisper("encoder"),
    "whisper_decoder": whisper("decoder"),
    "vits": voice,
    "mamba": transformer("MambaConfig", "MambaForCausalLM", text(200, masked=False), vocab_size=200, hidden_size=32, num_hidden_layers=2, state_size=8),
    # recurrent
    "lstm": recurrent("LSTM"),
    "lstm_time": recurrent("LSTM", dynamic=True, bidirectional=True),
    "gru": recurrent("GRU", bidirectional=True),
    # scikit-learn
    "forest": sklearn_(sk("ensemble", "RandomForestClassifier", n_estimators=20, max_depth=6)),
    "forest_regressor": sklearn_(sk("ensemble", "RandomForestRegressor", n_estimators=20), regress=True),
    "gradient_boosting": sklearn_(sk("ensemble", "GradientBoostingClassifier", n_estimators=10), classes=2),
    "histogram_boosting": sklearn_(sk("ensemble", "HistGradientBoostingRegressor", max_iter=20), regress=True),
    "isolation_forest": sklearn_(sk("ensemble", "IsolationForest", n_estimators=10), options=None),
    "svc": sklearn_(sk("svm", "SVC", probability=True)),
    "svr": sklearn_(sk("svm", "SVR"), regress=True),
    "logistic": sklearn_(pipeline(sk("preprocessing", "StandardScaler"), sk("linear_model", "LogisticRegression")), strings=True),
    "neighbours": sklearn_(sk("neighbors", "KNeighborsClassifier")),
    "perceptron": sklearn_(pipeline(sk("preprocessing", "MinMaxScaler"), sk("neural_network", "MLPClassifier", max_iter=20))),
    "bayes": sklearn_(sk("naive_bayes", "GaussianNB")),
    "process": sklearn_(sk("gaussian_process", "GaussianProcessRegressor"), regress=True),
    "kmeans": sklearn_(sk("cluster", "KMeans", n_clusters=4, n_init=1)),
    "components": sklearn_(pipeline(sk("decomposition", "PCA", n_components=4), sk("discriminant_analysis", "LinearDiscriminantAnalysis"))),
    "polynomial": sklearn_(pipeline(sk("preprocessing", "PolynomialFeatures"), sk("linear_model", "Ridge")), regress=True),
    "voting": sklearn_(lambda: sk("ensemble", "VotingClassifier", estimators=[("a", sk("linear_model", "LogisticRegression")()), ("b", sk("tree", "DecisionTreeClassifier", max_depth=4)())], voting="soft", flatten_transform=False)()),
    "imputed": sklearn_(pipeline(sk("impute", "SimpleImputer"), sk("preprocessing", "KBinsDiscretizer", encode="onehot-dense", quantile_method="averaged_inverted_cdf"), sk("linear_model", "SGDClassifier", loss="log_loss"))),
    "columns_of_text": columns_of_text,
    "words_counted": words_counted,
    "lightgbm": lightgbm_("LGBMClassifier"),
    "lightgbm_two": lightgbm_("LGBMClassifier", classes=2),
    "lightgbm_regressor": lightgbm_("LGBMRegressor"),
    "lightgbm_categories": lightgbm_("LGBMRegressor", categories=(4, 5), min_child_samples=5),
    "xgboost": xgboost_("XGBClassifier"),
    "xgboost_two": xgboost_("XGBClassifier", classes=2),
    "xgboost_regressor": xgboost_("XGBRegressor"),
    "catboost": catboost_("CatBoostClassifier"),
    "catboost_regressor": catboost_("CatBoostRegressor"),
    # onnxruntime's forms: not what ORT_ENABLE_ALL saves, whose blocked convolutions are of the machine that saved them
    "bert_optimised": optimised(bert(legacy=True), "bert", num_heads=4, hidden_size=128),
    "gpt2_optimised": optimised(transformer("GPT2Config", "GPT2LMHeadModel", text(), legacy=True, vocab_size=1000, n_embd=128, n_layer=2, n_head=4), "gpt2", num_heads=4, hidden_size=128),
    "vit_optimised": optimised(transformer("ViTConfig", "ViTModel", lambda: {"pixel_values": images(1, 3, 64, 64)}, legacy=True, image_size=64, **{k: v for k, v in SMALL.items() if k != "vocab_size"}), "vit", num_heads=4, hidden_size=128),
    "bert_extended": saved_at(bert(), "ORT_ENABLE_EXTENDED"),
    "bert_all": saved_at(bert(), "ORT_ENABLE_ALL"),
    "mobilenet_extended": saved_at(vision("mobilenet_v3_small"), "ORT_ENABLE_EXTENDED"),
    "squeezenet_half": half(vision("squeezenet1_1", legacy=True)),
    "bert_half": half(bert(legacy=True), keep_io=True),
    "bert_dynamic": quantised(bert()),
    "mobilenet_qdq": quantised(vision("mobilenet_v2", 96, legacy=True), "QDQ"),
    "mobilenet_qoperator": quantised(vision("mobilenet_v2", 96, legacy=True), "QOperator"),
    "shufflenet_qoperator": quantised(vision("shufflenet_v2_x0_5", 96, legacy=True), "QOperator"),
    "lstm_dynamic": quantised(recurrent("LSTM")),
    "llama_4bits": nbits(transformer("LlamaConfig", "LlamaForCausalLM", text(), num_key_value_heads=2, **SMALL)),
}
